import { brokerConfigErrors } from '@daybook/broker';
import { ClientError } from '@daybook/client';
import { ledgerErrors } from '@daybook/ledger';
import { clusterErrors, metadataErrors } from '@daybook/metadata';
import { configErrors } from '@daybook/runtime';
import t from 'tap';
import { cliErrors } from './errors.js';
import { errorText, exitCodeOf } from './exit.js';

// The codes stand as texts in exit.ts: these are the tables that they come from.
const wrongUsage = [
  cliErrors.USAGE('x'),
  configErrors.INVALID('x'),
  configErrors.UNREADABLE('file', 'x'),
  brokerConfigErrors.INVALID('x'),
  clusterErrors.BAD_METADATA_URL('url', 'x'),
  ledgerErrors.BAD_QUORUM('x'),
  new ClientError('BAD_ARGUMENT', 'x'),
];

for (const error of wrongUsage) t.test(`exit code: ${error.code} -> 2`, async (t) => t.equal(exitCodeOf(error), 2));

for (const error of [metadataErrors.UNAVAILABLE('x'), new ClientError('REFUSED', 'x'), new Error('x'), 'x', undefined]) {
  t.test(`exit code: ${String(error)} -> 1`, async (t) => t.equal(exitCodeOf(error), 1));
}

t.test('error text: plain -> only the message; debugging -> code, stack and all causes', async (t) => {
  const error = cliErrors.CANNOT_LISTEN('a:1', 'taken', { cause: new Error('middle', { cause: new Error('root') }) });
  t.equal(errorText(error), `daybook: ${error.message}`);
  t.equal(errorText('odd'), 'daybook: odd');
  process.env.DAYBOOK_DEBUG = '1';
  t.teardown(() => delete process.env.DAYBOOK_DEBUG);
  t.match(errorText(error), /^daybook: \[CLI_CANNOT_LISTEN\][\s\S]*\n\s+at [\s\S]*caused by: Error: middle[\s\S]*caused by: Error: root/);
});
