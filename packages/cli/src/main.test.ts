import t from 'tap';
import { runDaybook } from './testing/run-daybook.js';

t.jobs = 2;

const commands = ['standalone', 'broker', 'bookie', 'cluster', 'produce', 'consume', 'admin', 'ledger', 'shell', 'bench', 'sim'];

t.test('daybook: --help -> every command, exit code 0', async (t) => {
  const { code, output } = await runDaybook(['--help']);
  t.equal(code, 0);
  for (const command of commands) t.match(output, new RegExp(`\\n  ${command}\\b`), command);
  t.match(output, /Exit codes: 0 done; 1 .*; 2 /);
});

for (const command of commands) {
  t.test(`daybook ${command}: --help -> options and an example, exit code 0`, async (t) => {
    const { code, output } = await runDaybook([command, '--help']);
    t.equal(code, 0);
    t.match(output, /Examples?[:( ]/);
    t.match(output, new RegExp(`daybook ${command} [^\\[]`), 'an example that can be copied');
  });
}

t.test('daybook: --version -> the version of the package', async (t) => {
  const { code, output } = await runDaybook(['--version']);
  t.equal(code, 0);
  t.match(output, /^\d+\.\d+\.\d+\n$/);
});

const wrong: readonly (readonly [situation: string, words: string[], says: RegExp])[] = [
  ['no command', [], /Usage: daybook/],
  ['unknown command', ['frobnicate'], /unknown command 'frobnicate'[\s\S]*--help/],
  ['unknown option of a command', ['produce', 'topic', '--frobnicate'], /unknown option '--frobnicate'[\s\S]*--help/],
  ['missing argument', ['produce'], /missing required argument 'topic'/],
  ['one argument too many', ['standalone', 'extra'], /too many arguments/],
  ['a port that is none', ['standalone', '--port', '70000'], /whole number from 0 to 65535/],
  ['a command of a group that does not exist', ['admin', 'topics', 'frobnicate'], /unknown command/],
  ['a choice that is none', ['consume', 'topic', '-s', 's', '-t', 'Sometimes'], /Allowed choices are Exclusive, Shared/],
  ['a malformed topic', ['produce', 'a/b', '-m', 'x'], /is not a topic/],
  ['a malformed namespace', ['admin', 'topics', 'list', 'public'], /TENANT\/NAMESPACE/],
  ['--set without a value', ['broker', '--set', 'x'], /NAME=VALUE/],
  ['an unknown setting', ['standalone', '--set', 'maxMesageSize=1'], /maxMesageSize[\s\S]*maxMessageSize/],
  ['a settings file that is not there', ['standalone', '--config', '/no/such/file'], /\/no\/such\/file/],
  ['a bookie without metadata', ['bookie'], /metadata/],
  ['a malformed metadata URL', ['broker', '--metadata', 'http://x'], /zk:\/\/HOST:PORT/],
  ['quorums that contradict each other', ['standalone', '--set', 'managedLedgerDefaultAckQuorum=2'], /managedLedgerDefaultAckQuorum/],
  ['a cluster setting nobody knows', ['cluster', '--set', 'frobnicate=1'], /neither brokers nor bookies/],
  ['a ledger command without a cluster', ['ledger', 'list'], /--metadata/],
  ['a ledger command on a folder', ['ledger', 'info', '1', '--metadata', 'file:data'], /need a cluster/],
  ['a shell command that does not exist', ['shell', 'frobnicate'], /unknown command 'frobnicate'/],
  ['a shell command without a bookie', ['shell', 'lastmark'], /--data FOLDER .* --http HOST:PORT/],
  ['a shell command without a cluster', ['shell', 'listbookies', '-rw'], /--metadata/],
  ['appending to an existing ledger', ['ledger', 'append', '7', '-m', 'x'], /one writer/],
  ['bench of a cluster that does not run', ['bench', 'produce', '--cluster', '/no/such/folder'], /cluster\.json/],
];

for (const [situation, words, says] of wrong) {
  t.test(`daybook: ${situation} -> exit code 2 and a text on standard error`, async (t) => {
    const { code, output, errors } = await runDaybook(words);
    t.equal(code, 2);
    t.equal(output, '');
    t.match(errors, says);
    t.notMatch(errors, /\n\s+at /, 'no stack');
  });
}

t.test('daybook produce: no broker there -> exit code 1, one line', async (t) => {
  const { code, errors } = await runDaybook(['produce', 'topic', '-m', 'x', '--url', 'http://127.0.0.1:1']);
  t.equal(code, 1);
  t.match(errors, /^daybook: .*cannot be reached.*\n$/);
});

t.test('daybook: DAYBOOK_DEBUG=1 -> the same failure with its stack', async (t) => {
  const { code, errors } = await runDaybook(['produce', 'topic', '-m', 'x', '--url', 'http://127.0.0.1:1'], { DAYBOOK_DEBUG: '1' });
  t.equal(code, 1);
  t.match(errors, /^daybook: .*cannot be reached[\s\S]*\n\s+at /);
});

t.test('daybook broker: no ZooKeeper there -> exit code 1, one line', async (t) => {
  const { code, errors } = await runDaybook(['broker', '--metadata', 'zk://127.0.0.1:1/x', '--port', '0', '--set', 'metadataSessionTimeoutMs=1000']);
  t.equal(code, 1);
  t.match(errors, /^daybook: the metadata store cannot be reached: .*127\.0\.0\.1:1.*\n$/);
});
