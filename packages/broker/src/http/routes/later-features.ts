import { jsonAnswer, notSupported, Refused } from '../answer.js';
import type { Call } from '../call.js';
import type { Router } from '../router.js';

/** Whole areas of Pulsar's REST API that come later. A wrong path stays 404; these say that they are known and not there yet. */
const areas: Readonly<Record<string, string>> = {
  '/admin/v2/broker-stats': 'Broker statistics',
  '/admin/v2/resource-quotas': 'Resource quotas',
  '/admin/v2/resourcegroups': 'Resource groups',
  '/admin/v2/schemas': 'The schema registry',
  '/admin/v3/packages': 'Packages',
  '/admin/v3/transactions': 'Transactions',
};

/** What Pulsar answers without a functions worker: 409, which its tools understand. */
const worker = ['/admin/v2/functions', '/admin/v2/worker', '/admin/v2/worker-stats', '/admin/v3/functions', '/admin/v3/sinks', '/admin/v3/sources'];

export function addLaterFeatures(router: Router): void {
  for (const [path, what] of Object.entries(areas)) {
    const refuse = () => {
      throw notSupported(what);
    };
    router.add('*', path, refuse).add('*', `${path}/*`, refuse);
  }
  const noWorker = () => {
    throw new Refused(409, 'Functions, sinks and sources are not supported by this version of Daybook');
  };
  for (const path of worker) router.add('*', path, noWorker).add('*', `${path}/*`, noWorker);
  // Nothing of these can exist yet.
  const schema = '/admin/v2/schemas/:tenant/:namespace/:topic';
  const noSchema = (call: Call) => {
    call.topic('persistent');
    throw new Refused(404, 'Schema not found');
  };
  router
    .add('GET', '/admin/v2/resourcegroups', () => jsonAnswer([]))
    .add('GET', `${schema}/schema`, noSchema)
    .add('GET', `${schema}/schema/:version`, noSchema);
}
