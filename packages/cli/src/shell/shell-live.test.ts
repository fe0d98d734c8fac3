import { closeSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import t from 'tap';
import { Daybook, runDaybook, temporaryFolder } from '../testing/run-daybook.js';
import { type CommandResult, CommandRunner } from './testing/command-runner.js';

const isSkipped = process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1';

t.test('daybook shell: on a bookie that runs, then stopped', { skip: isSkipped, timeout: 180_000 }, async (t) => {
  const zookeeper = await ZooKeeperServer.start();
  t.teardown(() => zookeeper.stop());
  const DAYBOOK_METADATA = `zk://${zookeeper.address}/daybook`;
  const data = temporaryFolder(t);
  const start = (): Daybook =>
    new Daybook(['bookie', '--bookie-id', 'b1', '--data', data, '--port', '0', '--http-port', '0', '--set', 'flushIntervalMs=100'], {
      DAYBOOK_METADATA,
    });
  const bookie = start();
  t.teardown(() => bookie.end());
  const http = await bookie.printed(/http:\/\/([\d.]+:\d+)\/metrics/);
  const runner = new CommandRunner({ DAYBOOK_METADATA });
  t.teardown(() => runner.end());
  const shell = (...words: string[]): Promise<CommandResult> => runner.run(['shell', ...words]);
  /** Its JSON; the exit code must be 0. */
  const json = async (...words: string[]): Promise<unknown> => {
    const { code, output, errors } = await shell(...words, '--json');
    t.equal(code, 0, `${words.join(' ')}: ${errors}`);
    const lines = output.trim().split('\n');
    return lines.length === 1 ? JSON.parse(lines[0] as string) : lines.map((line) => JSON.parse(line));
  };
  const live = ['--http', http];
  const folder = ['--data', data];
  const one = ['-e', '1', '-w', '1', '-a', '1'];
  const appended = await runDaybook(['ledger', 'append', ...one, '-m', 'first', 'second', 'third', '--close', '--password', 'secret'], {
    DAYBOOK_METADATA,
  });
  const id = Number(/ledger (\d+)/.exec(appended.output)?.[1]);

  await t.test('cluster commands: each tells what the cluster is', async (t) => {
    const cases: readonly (readonly [words: string[], expected: object])[] = [
      [['listbookies', '-rw'], [{ bookieId: 'b1', state: 'rw', httpAddress: http }]],
      [['listbookies', '-ro'], []],
      [['listbookies', '-a'], [{ bookieId: 'b1' }]],
      [['bookieinfo'], { bookies: [{ bookieId: 'b1', free: Number, total: Number }] }],
      [['endpointinfo', 'b1'], { bookieId: 'b1', httpAddress: http, isWritable: true }],
      [['whatisinstanceid'], { instanceId: /^[0-9a-f-]{36}$/ }],
      [
        ['clusterinfo'],
        { auditorElected: false, totalBookiesCount: 1, writableBookiesCount: 1, unavailableBookiesCount: 0, ledgerReplicationEnabled: true },
      ],
      [['listledgers'], { ledgerId: id }],
      [['listledgers', '--bookieid', 'b1', '--meta'], { ledgerId: id, state: 'CLOSED', lastEntryId: 2 }],
      [['ledgermetadata', String(id)], { ledgerId: id, state: 'CLOSED', ensembleSize: 1, segments: [{ firstEntryId: 0, ensemble: ['b1'] }] }],
      [
        ['readledger', String(id), '-fe', '1', '--msg'],
        [{ entryId: 1, bytes: 6, payload: 'c2Vjb25k' }, { entryId: 2 }],
      ],
      [
        ['readledger', String(id), '-b', 'b1'],
        [{ entryId: 0 }, { entryId: 1 }, { entryId: 2 }],
      ],
      [['simpletest', ...one, '-n', '50'], { passed: true, entriesRead: 50 }],
      [['whoisauditor'], { auditor: null }],
      [['autorecovery', '--disable'], { isEnabled: false }],
      [['autorecovery', '--enable'], { isEnabled: true }],
      [['lostbookierecoverydelay', '--set', '7'], { delay_seconds: 7 }],
      [['lostbookierecoverydelay'], { delay_seconds: 7 }],
      [['triggeraudit'], { triggered: true }],
      [['forceauditchecks'], { due: ['all-ledgers', 'placement', 'replicas'] }],
      [['queryautorecoverystatus'], { isEnabled: true, underReplicatedLedgersCount: 0, ledgersBeingRecovered: [] }],
      [
        ['recover', 'b1', '-q'],
        [{ ledgerId: id, outcome: 'named', entriesCount: 3 }, { result: { reports: { named: 1 } } }],
      ],
      [
        ['recover', 'b1', '-dr'],
        [{ ledgerId: id, outcome: 'named', reason: /no bookie can take the place/ }, {}],
      ],
      [['cookie_get', 'b1'], [{ where: 'metadata', cookie: { bookieId: 'b1', journalDirectories: ['journal'] } }]],
    ];
    for (const [words, expected] of cases) t.match(await json(...words), expected, words.join(' '));
    t.equal((await shell('listunderreplicated')).output, 'no ledger lacks a copy, as far as anybody has noticed\n');
    t.equal((await shell('listunderreplicated', '--json')).output, '');
  });

  await t.test('live commands: each tells what the bookie is', async (t) => {
    const cases: readonly (readonly [words: string[], expected: object])[] = [
      [['bookieinfo', ...live], { bookieId: 'b1', state: 'running', isJournalSynced: true }],
      [['bookiesanity', ...live], { passed: true, readOnly: false }],
      [['lastmark', ...live], { marks: [{ journalFileName: /journal$/ }] }],
      [['ledger', String(id), ...live], { entriesCount: 3, runs: [{ first: 0, last: 2 }] }],
      [['readonly', 'on', ...live], { isReadOnly: true, readOnlyReasons: [{ kind: 'manual' }] }],
      [['readonly', 'off', ...live], { isReadOnly: false }],
      [['gc', 'status', ...live], { forceCompacting: false, majorCompactionCounter: Number, logs: Array }],
      [['gc', 'pause', ...live], { isMajorGcSuspended: true, isMinorGcSuspended: true }],
      [['gc', 'resume', 'minor', ...live], { isMajorGcSuspended: true, isMinorGcSuspended: false }],
      [['gc', 'resume', ...live], { isMajorGcSuspended: false }],
      [['gc', 'force', ...live], { runs: Number, isForceGcRunning: false }],
      [['gc', 'compact', 'major', ...live], { isForceGcRunning: false }],
      [['scrub', ...live], { isRunning: false, badEntries: [], last: { failedLogs: [] } }],
      [['scrub', '--status', ...live], { isRunning: false, last: { badEntriesCount: 0 } }],
    ];
    for (const [words, expected] of cases) t.match(await json(...words), expected, words.join(' '));
    t.match(await json('listfilesondisc', '--txn', ...live), { kind: 'journal', name: /journal$/ });
  });

  await t.test('folder commands that only look: on the folder of a bookie that runs', async (t) => {
    const cases: readonly (readonly [words: string[], expected: object])[] = [
      [['lastmark', ...folder], { marks: [{ journalFileName: /journal$/ }] }],
      [['ledger', String(id), ...folder], { ledgerId: id, runs: [{ firstEntryId: 0, lastEntryId: 2 }] }],
      [['listfilesondisc', '--txn', ...folder], { kind: 'journal' }],
    ];
    for (const [words, expected] of cases) t.match(await json(...words), expected, words.join(' '));
    t.match([await json('listledgers', ...folder)].flat(), [{ ledgerId: id, isKnown: true }]);
    t.match([await json('listledgers', ...live)].flat(), [{ ledgerId: id }]);
    const records = [await json('readjournal', ...folder)].flat();
    t.match(records.at(-1), { summary: { damages: [] } });
    t.match([await json('readlogmetadata', ...folder)].flat()[0], { ledgers: [{ ledgerId: id, entriesCount: 3 }] });
    t.match([await json('readlog', '1', '-l', String(id), ...folder)].flat().at(-1), { summary: { recordsCount: 3, badRecordsCount: 0 } });
    t.match([await json('activeledgers', '1', ...folder)].flat(), [{ ledgerId: id, isActive: true }]);
    t.match(await json('bookiesanity', ...live), { passed: true }, 'it still runs');
  });

  await t.test('a running bookie: its folder, its cookie and its ledgers are left alone', async (t) => {
    const refused: readonly (readonly [words: string[], says: RegExp])[] = [
      [['journal', 'inspect', ...folder], /is running: stop it first/],
      [['entrylog', 'giveup', ...folder, '--force'], /is running: stop it first/],
      [['localconsistencycheck', ...folder], /is running: let it check itself with daybook shell scrub/],
      [['bookieformat', ...folder, '--force'], /is running/],
      [['bookieformat', ...folder], /nothing was done\. This would remove every file of bookie b1/],
      [['cookie_delete', 'b1'], /still named by 1 ledgers/],
      [['recover', 'b1'], /nothing was done.*--force/],
      [['deleteledger', String(id)], /nothing was done.*ledger \d+ \(CLOSED, 16 B\)/],
      [['decommissionbookie', 'b1'], /stop it/],
      [['endpointinfo', 'b7'], /up are: b1/],
      [['ledgermetadata', '4242'], /no ledger 4242/],
    ];
    for (const [words, says] of refused) {
      const { code, errors } = await shell(...words);
      t.equal(code, 1, words.join(' '));
      t.match(errors, says, words.join(' '));
    }
  });

  await bookie.end();

  await t.test('folder commands: each tells what the stopped bookie holds', async (t) => {
    const cases: readonly (readonly [words: string[], expected: object])[] = [
      [['lastmark', ...folder], { marks: [{ journalFileName: /journal$/ }], logsCount: 1 }],
      [['listfilesondisc', '--log', ...folder], { kind: 'entrylog' }],
      [
        ['readlog', '1', '-l', String(id), '-e', '0', '--msg', ...folder],
        [{ ledgerId: id, entryId: 0, isIntact: true, entry: String }, { summary: { recordsCount: 1 } }],
      ],
      [['readlogmetadata', '1', ...folder], { logId: '1', ledgers: [{ ledgerId: id, entriesCount: 3 }] }],
      [['ledger', String(id), ...folder], { ledgerId: id, runs: [{ firstEntryId: 0, lastEntryId: 2, logId: 1 }] }],
      [['localconsistencycheck', ...folder], { logsCount: 1, problems: [] }],
      [['bookiesanity', ...folder], { passed: true, problems: [] }],
      [
        ['cookie_get', 'b1', ...folder],
        [{ cookie: { bookieId: 'b1' } }, { cookie: { bookieId: 'b1' } }, { where: 'metadata' }],
      ],
      [['journal', 'inspect', ...folder], [{ problems: [] }]],
      [['journal', 'repair', ...folder], [{ problems: [] }]],
      [['entrylog', 'inspect', ...folder], []],
      [['entrylog', 'giveup', ...folder], []],
      [['activeledgers', '1', ...folder], [{ ledgerId: id, isActive: true }]],
    ];
    for (const [words, expected] of cases) t.match(await json(...words), expected, words.join(' '));
    t.match([await json('listledgers', ...folder)].flat(), [{ ledgerId: id, isKnown: true, entriesCount: 3 }]);
    t.match([await json('readjournal', ...folder)].flat().at(-1), { summary: { recordsCount: Number, damages: [] } });
    t.equal((await shell('bookiesanity', ...folder)).output, 'it would start\n');
  });

  await t.test('entry log lost: told, nothing without --force, then given up; the bookie starts in limbo', async (t) => {
    const log = join(data, 'ledgers', '0000000000000001.log');
    renameSync(log, `${log}.away`);
    t.match(await shell('entrylog', 'inspect', ...folder), { code: 1, output: /missing/, errors: /daybook shell entrylog giveup/ });
    t.match((await shell('entrylog', 'inspect', ...folder)).output, new RegExp(`ledgerId.*\\n${id} +0 +2 +3`));
    t.match(await shell('entrylog', 'giveup', ...folder), { code: 1, errors: /nothing was done.*--force/ });
    t.match(await shell('entrylog', 'giveup', ...folder, '--force'), { code: 0, output: /in limbo/ });
    t.match(await shell('entrylog', 'inspect', ...folder), { code: 0 });
    const again = start();
    const address = await again.printed(/http:\/\/([\d.]+:\d+)\/metrics/);
    t.match((await runner.run(['shell', 'bookieinfo', '--http', address, '--json'])).output, /"isLimbo":true/);
    await again.end();
    t.match((await runDaybook(['ledger', 'append', ...one, '-m', 'x', '--close'], { DAYBOOK_METADATA })).code, 1, 'there is no bookie');
    t.match(await shell('journal', 'endlimbo', ...folder, '--force'), { code: 0 });
  });

  await t.test('identity: cookie to a file and back, a new bookie, a wiped one', async (t) => {
    const file = join(temporaryFolder(t), 'cookie');
    t.match(await json('cookie_generate', ...folder, '-o', file), { bookieId: 'b1' });
    t.match(await json('cookie_delete', 'b1', '--force'), { deleted: true });
    t.match((await shell('cookie_get', 'b1')).errors, /no cookie of bookie b1/);
    t.match((await shell('cookie_create', 'b2', '-cf', file)).errors, /cookie of bookie b1, not of b2/);
    t.match(await json('cookie_create', 'b1', '-cf', file), { bookieId: 'b1' });
    t.match((await shell('cookie_update', 'b1', ...folder)).errors, /nothing was done/);
    t.match(await json('cookie_update', 'b1', ...folder, '--force'), { bookieId: 'b1' });
    t.match((await shell('initbookie', '--bookieid', 'b1', '--data', temporaryFolder(t))).errors, /there is a cookie of bookie b1/);
    t.match(await json('initbookie', '--bookieid', 'b2', '--data', temporaryFolder(t)), { isClean: true });
    t.match(await json('deleteledger', String(id), '--force'), { deleted: true });
    t.match(await json('bookieformat', ...folder, '--force', '--deletecookie'), { cookieDeleted: 'b1', filesRemoved: Number });
    t.match((await shell('lastmark', ...folder)).errors, /is no folder of a bookie/);
    t.match(await json('initbookie', '--bookieid', 'b1', ...folder), { isClean: true });
    t.match(await json('cookie_create', 'b1', '-cf', file), { bookieId: 'b1' });
    t.match((await shell('bookieformat', ...folder, '--deletecookie')).errors, /is no folder of a bookie/);
    t.match(await json('bookieformat', ...folder, '--deletecookie', '--bookieid', 'b1', '--force'), { cookieDeleted: 'b1', filesRemoved: 0 });
  });
});

t.test(
  'daybook shell journal repair: damage -> inspect tells, nothing without --yes, then it is given up',
  { skip: isSkipped, timeout: 120_000 },
  async (t) => {
    const zookeeper = await ZooKeeperServer.start();
    t.teardown(() => zookeeper.stop());
    const DAYBOOK_METADATA = `zk://${zookeeper.address}/daybook`;
    const data = temporaryFolder(t);
    const words = ['bookie', '--bookie-id', 'b1', '--data', data, '--port', '0', '--http-port', '0', '--set', 'flushIntervalMs=3600000'];
    const bookie = new Daybook(words, { DAYBOOK_METADATA });
    await bookie.printed(/is ready/);
    const runner = new CommandRunner({ DAYBOOK_METADATA });
    t.teardown(() => runner.end());
    for (const text of ['one', 'two']) {
      await runner.run(['ledger', 'append', '-e', '1', '-w', '1', '-a', '1', '-m', text, '--close']);
    }
    await bookie.end('SIGKILL');
    const shell = (...more: string[]): Promise<CommandResult> => runner.run(['shell', ...more, '--data', data]);
    const lines = (await shell('readjournal', '--json')).output.trim().split('\n');
    const records = lines.map((line) => JSON.parse(line) as { offset: number; type?: string }).filter(({ type }) => type === 'entries');
    t.equal(records.length, 2);
    const mark = JSON.parse((await shell('lastmark', '--json')).output) as { marks: { journalFileName: string }[] };
    const file = openSync(join(data, 'journal', mark.marks[0]?.journalFileName as string), 'r+');
    writeSync(file, 'damage', (records[0]?.offset ?? 0) + 50);
    closeSync(file);

    const refused = await runDaybook(words, { DAYBOOK_METADATA });
    t.match([refused.code, refused.errors], [1, /daybook shell journal inspect/]);
    t.match(await shell('readjournal'), { code: 1, errors: /cannot be read/ });
    t.match(await shell('bookiesanity'), { code: 1, output: /cannot be read/ });
    t.match(await shell('journal', 'inspect'), { code: 1, output: /cannot be read/, errors: /daybook shell journal repair/ });
    t.match(await shell('journal', 'repair'), { code: 1, errors: /nothing was done.*--yes/ });
    t.match(await shell('journal', 'repair', '--yes'), { code: 0, output: /in limbo/ });
    t.match(await shell('journal', 'inspect'), { code: 0 });
    const again = new Daybook(words, { DAYBOOK_METADATA });
    const http = await again.printed(/http:\/\/([\d.]+:\d+)\/metrics/);
    t.match((await runner.run(['shell', 'readonly', '--http', http, '--json'])).output, /"limbo"/);
    await again.end();
    t.match(await shell('journal', 'endlimbo'), { code: 1, errors: /--force/ });
    t.match(await shell('journal', 'endlimbo', '--force'), { code: 0 });
  },
);
