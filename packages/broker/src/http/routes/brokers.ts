import type { Metrics } from '@daybook/runtime';
import { emptyAnswer, jsonAnswer, noContent, notSupported, Refused, textAnswer } from '../answer.js';
import type { Router } from '../router.js';
import type { RouteContext } from './route-context.js';

const root = '/admin/v2/brokers';

/** `/admin/v2/brokers`, and the probes for whoever watches the process. */
export function addBrokerRoutes(router: Router, { broker }: RouteContext): void {
  let check: Promise<void> | undefined;
  /** Probes that come while one is under way share its result. */
  const healthy = (): Promise<void> => {
    check ??= broker.checkHealth().finally(() => {
      check = undefined;
    });
    return check;
  };
  const brokers = async () => jsonAnswer(await broker.liveBrokers());
  router
    .add('GET', root, brokers)
    .add('GET', `${root}/health`, async (call) => {
      const version = call.query.get('topicVersion') ?? 'V2';
      if (version !== 'V1' && version !== 'V2') throw new Refused(404, 'Not Found: topicVersion is V1 or V2');
      await healthy();
      return textAnswer(200, 'ok');
    })
    .add('GET', `${root}/ready`, () => ready(broker.isReady))
    .add('GET', `${root}/version`, () => textAnswer(200, broker.version))
    .add('GET', `${root}/leaderBroker`, async () => {
      const leader = await broker.leaderBroker();
      if (leader === undefined) throw new Refused(404, "Couldn't find leader broker");
      return jsonAnswer({ brokerId: leader, serviceUrl: `http://${leader}` });
    })
    // There are no quotas yet: a pass over them has nothing to do.
    .add('GET', `${root}/backlog-quota-check`, () => noContent)
    .add('GET', `${root}/configuration`, () => jsonAnswer([]))
    .add('GET', `${root}/configuration/values`, () => jsonAnswer({}))
    .add('POST', `${root}/configuration/:setting/:value`, () => {
      throw new Refused(412, "Can't update non-dynamic configuration");
    })
    .add('DELETE', `${root}/configuration/:setting`, () => {
      throw new Refused(412, "Can't update non-dynamic configuration");
    })
    .add('GET', `${root}/:cluster`, brokers)
    .add('GET', `${root}/:cluster/:broker/ownedNamespaces`, async (call) => {
      const brokerId = call.parameter('broker');
      if (!(await broker.liveBrokers()).includes(brokerId)) throw new Refused(404, `Broker id '${brokerId}' not found in available brokers.`);
      throw notSupported('GET ownedNamespaces of a broker');
    })
    .add('*', `${root}/*`, (call) => {
      throw notSupported(`${call.method} ${call.segments.slice(3).join('/')} of a broker`);
    })
    .add('GET', '/healthz', () => textAnswer(200, 'ok'))
    .add('GET', '/readyz', () => ready(broker.isReady));
}

function ready(isReady: boolean) {
  if (!isReady) throw new Refused(503, 'the broker is not ready: it has no metadata session yet, or is ending');
  return textAnswer(200, 'ok');
}

export function addMetricsRoute(router: Router, metrics: Metrics | undefined): void {
  router.add('GET', '/metrics', async () =>
    metrics === undefined ? emptyAnswer : { status: 200, headers: { 'content-type': metrics.contentType }, body: await metrics.text() },
  );
}
