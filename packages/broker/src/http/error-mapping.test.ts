import { DaybookError, definedErrors } from '@daybook/runtime';
import t from 'tap';
import '../index.js';
import { topicErrors } from '../topic/errors.js';
import { mappedCodes, statusOf } from './error-mapping.js';

/** Areas whose errors end a process or a command before there is a request to answer, or never leave their package. */
const startUpAreas = new Set(['BROKER_CONFIG', 'BYTES', 'CLUSTER', 'CONFIG', 'LIFECYCLE']);

t.test('error mapping: every code that the broker can meet → has a status', async (t) => {
  const mapped = mappedCodes();
  for (const { area, table } of definedErrors()) {
    if (startUpAreas.has(area)) continue;
    for (const key of Object.keys(table)) t.ok(mapped.has(`${area}_${key}`), `${area}_${key} has a row in error-mapping.ts`);
  }
});

t.test('error mapping: unexpected errors and those that are nobody else business → no status', async (t) => {
  t.equal(statusOf(topicErrors.NOT_FOUND('persistent://a/b/c')), 404);
  t.equal(statusOf(new Error('secret')), undefined);
  t.equal(statusOf(new DaybookError('SOMETHING_NEW', 'never', 'text')), undefined);
  t.equal(statusOf(undefined), undefined);
});
