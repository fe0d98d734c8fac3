import { type LedgerId, ledgerId } from '@daybook/proto';
import { Metrics, silentLogger } from '@daybook/runtime';
import { RealClock } from '@daybook/runtime/real';
import t, { type Test } from 'tap';
import { SimBookie } from '../testing/sim-bookie.js';
import { bodyBytesMax } from './admin-route.js';
import { bookieRoutes } from './bookie-routes.js';
import { type GarbageControl, garbageRoutes } from './garbage-routes.js';
import { startBookieHttp } from './http-admin.js';

/** Remembers what was asked of it. */
class FakeGarbage implements GarbageControl {
  readonly asked: unknown[] = [];
  readonly suspended = { minor: false, major: false };

  async force(wanted?: object): Promise<void> {
    this.asked.push(wanted);
  }

  suspend(kinds: readonly ('minor' | 'major')[]): void {
    for (const kind of kinds) this.suspended[kind] = true;
  }

  resume(kinds: readonly ('minor' | 'major')[]): void {
    for (const kind of kinds) this.suspended[kind] = false;
  }

  status() {
    const tally = { count: 2, lastTimeMs: 7 };
    return { isForceGcRunning: false, compacting: 'minor' as const, compactions: { minor: tally, major: tally }, suspended: { ...this.suspended } };
  }

  logs() {
    return [{ logId: 1, liveShare: 0.5 }];
  }
}

async function world(t: Test) {
  const sim = new SimBookie();
  const bookie = await sim.start();
  await sim.append({ ledger: 5, first: 0, count: 20 });
  await sim.flush();
  const driver = sim.queue.drive();
  const garbage = new FakeGarbage();
  const ready = { isReady: true };
  const folders = { journalDirectories: ['/data/journal'], ledgerDirectories: ['/data/ledgers'] };
  const routes = bookieRoutes({
    bookie,
    clock: new RealClock(),
    disk: sim.disk,
    logger: silentLogger,
    config: { journalMaxSizeMB: 128 },
    ...folders,
    isReady: () => ready.isReady,
    nextLedgerId: async () => ledgerId(77),
  });
  const failing = {
    path: '/api/v1/failing',
    GET: () => {
      throw new Error('secret');
    },
  };
  const http = await startBookieHttp({
    host: '127.0.0.1',
    port: 0,
    metrics: new Metrics(),
    isHealthy: () => true,
    isReady: () => ready.isReady,
    routes: [...routes, ...garbageRoutes(garbage, silentLogger), failing],
    logger: silentLogger,
  });
  t.teardown(async () => {
    await http.close();
    await bookie.close();
    driver.stop();
  });
  const ask = async (method: string, path: string, body?: string) => {
    const response = await fetch(`http://127.0.0.1:${http.port}${path}`, { method, ...(body !== undefined && { body }) });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: response.status, allow: response.headers.get('allow'), value: isJson && text !== '' ? JSON.parse(text) : text };
  };
  return { sim, bookie, garbage, ready, ask };
}

const good: readonly (readonly [method: string, path: string, body: string | undefined, expected: object])[] = [
  ['GET', '/api/v1/bookie/state', undefined, { running: true, readOnly: false, shuttingDown: false, availableForHighPriorityWrites: true }],
  ['GET', '/api/v1/bookie/state/readonly', undefined, { readOnly: false }],
  ['PUT', '/api/v1/bookie/state/readonly', '{"readOnly": true}', { readOnly: true, readOnlyReasons: [{ kind: 'manual' }] }],
  ['GET', '/api/v1/bookie/sanity', undefined, { passed: true, readOnly: true }],
  ['PUT', '/api/v1/bookie/state/readonly', '{"readOnly": false}', { readOnly: false, readOnlyReasons: [] }],
  ['GET', '/api/v1/bookie/sanity', undefined, { passed: true, readOnly: false }],
  ['GET', '/api/v1/bookie/sanity', undefined, { passed: true, readOnly: false }],
  ['GET', '/api/v1/bookie/is_ready', undefined, { isReady: true }],
  [
    'GET',
    '/api/v1/bookie/status',
    undefined,
    { state: 'running', isJournalSynced: true, isLimbo: false, journals: [{ directory: '/data/journal' }] },
  ],
  ['GET', '/api/v1/bookie/info', undefined, { freeSpace: Number, totalSpace: Number }],
  ['GET', '/api/v1/bookie/last_log_mark', undefined, { marks: [{ journalDirectory: '/data/journal', journalFileName: /^[0-9a-f]{16}\.journal$/ }] }],
  [
    'GET',
    '/api/v1/bookie/list_disk_file',
    undefined,
    { 'journal files': [{ name: /journal/ }], 'entrylog files': [{ name: /log/ }], 'index files': [{}] },
  ],
  ['GET', '/api/v1/bookie/list_disk_file?file_type=entrylog', undefined, { 'entrylog files': [{ name: /log/ }] }],
  ['GET', '/api/v1/bookie/ledger?ledger_id=5', undefined, { ledgerId: 5, entriesCount: 20, runs: [{ first: 0, last: 19 }] }],
  ['GET', '/api/v1/bookie/ledgers', undefined, { ledgers: [5] }],
  ['GET', '/api/v1/bookie/ledgers?from=5', undefined, { ledgers: [5] }],
  ['GET', '/api/v1/bookie/ledgers?from=6', undefined, { ledgers: [] }],
  ['GET', '/api/v1/bookie/scrub', undefined, { isRunning: false, badEntriesCount: 0, badEntries: [] }],
  ['GET', '/api/v1/config/server_config', undefined, { journalMaxSizeMB: 128 }],
  ['GET', '/api/v1/bookie/gc', undefined, { is_in_force_gc: false }],
  ['PUT', '/api/v1/bookie/gc', undefined, { is_in_force_gc: false }],
  ['PUT', '/api/v1/bookie/gc', '{"forceMajor": true, "forceMinor": false}', { is_in_force_gc: false }],
  [
    'GET',
    '/api/v1/bookie/gc_details',
    undefined,
    [{ minorCompacting: true, majorCompacting: false, majorCompactionCounter: 2, lastMinorCompactionTime: 7 }],
  ],
  ['PUT', '/api/v1/bookie/gc/suspend_compaction', '{"suspendMajor": true}', { isMajorGcSuspended: true, isMinorGcSuspended: false }],
  ['GET', '/api/v1/bookie/gc/suspend_compaction', undefined, { isMajorGcSuspended: true, isMinorGcSuspended: false }],
  ['PUT', '/api/v1/bookie/gc/resume_compaction', '{"resumeMajor": true}', { isMajorGcSuspended: false }],
  ['GET', '/api/v1/bookie/entry_logs', undefined, [{ logId: 1 }]],
];

t.test('bookie admin: each path -> 200 and its JSON', async (t) => {
  const { ask, garbage, sim } = await world(t);
  for (const [method, path, body, expected] of good) {
    const { status, value } = await ask(method, path, body);
    t.equal(status, 200, `${method} ${path}`);
    t.match(value, expected, `${method} ${path}`);
  }
  t.same(garbage.asked, [{}, { major: true, minor: false }]);
  t.same(await sim.service.listEntries(77 as LedgerId), { code: 'OK', runs: [{ first: 0, last: 1 }] }, 'the sanity check did write');
  t.equal((await ask('HEAD', '/api/v1/bookie/state')).value, '');
});

t.test('bookie admin: scrub asked for -> it runs, and its report is there', async (t) => {
  const { ask } = await world(t);
  t.equal((await ask('PUT', '/api/v1/bookie/scrub')).status, 200);
  let report: { isRunning: boolean; last?: object } = { isRunning: true };
  while (report.last === undefined) report = (await ask('GET', '/api/v1/bookie/scrub')).value;
  t.match(report.last, { badEntriesCount: 0, failedLogs: [], logsCount: Number });
});

const bad: readonly (readonly [method: string, path: string, body: string | undefined, status: number, says: RegExp])[] = [
  ['GET', '/api/v1/bookie/nothing', undefined, 404, /docs\/shell\.md/],
  ['GET', '/', undefined, 404, /there is no \/ here/],
  ['DELETE', '/api/v1/bookie/state', undefined, 405, /GET is/],
  ['POST', '/api/v1/bookie/gc', '{}', 405, /GET, PUT is/],
  ['PUT', '/api/v1/bookie/state/readonly', undefined, 400, /"readOnly": true/],
  ['PUT', '/api/v1/bookie/state/readonly', '{"readOnly": 1}', 400, /readOnly must be true or false/],
  ['PUT', '/api/v1/bookie/state/readonly', '{"readonly": true}', 400, /unknown field readonly/],
  ['PUT', '/api/v1/bookie/state/readonly', '[1]', 400, /JSON object/],
  ['PUT', '/api/v1/bookie/state/readonly', 'x', 400, /no JSON/],
  ['PUT', '/api/v1/bookie/gc/suspend_compaction', '{}', 400, /suspendMajor/],
  ['PUT', '/api/v1/bookie/gc', 'x'.repeat(bodyBytesMax + 1), 413, /at most/],
  ['GET', '/api/v1/bookie/list_disk_file?file_type=x', undefined, 400, /journal, entrylog, index/],
  ['GET', '/api/v1/bookie/ledger', undefined, 400, /say ledger_id/],
  ['GET', '/api/v1/bookie/ledger?ledger_id=-1', undefined, 400, /whole number/],
  ['GET', '/api/v1/bookie/ledger?ledger_id=99999999999999999999', undefined, 400, /whole number/],
  ['GET', '/api/v1/bookie/ledger?ledger_id=6', undefined, 404, /ledger 6/],
  ['PUT', '/api/v1/config/server_config', '{}', 403, /start the bookie again/],
  ['PUT', '/api/v1/bookie/expand_storage', undefined, 403, /allowStorageExpansion/],
  ['GET', '/api/v1/bookie/entry_location_compact', undefined, 403, /api\/v1\/bookie\/gc/],
  ['GET', '/api/v1/failing', undefined, 500, /^something unexpected/],
];

t.test('bookie admin: wrong path, method, parameter, body -> its status and a text that helps', async (t) => {
  const { ask } = await world(t);
  for (const [method, path, body, status, says] of bad) {
    const answer = await ask(method, path, body);
    t.equal(answer.status, status, `${method} ${path}`);
    t.match(answer.value, { error: says }, `${method} ${path}`);
    t.equal(answer.allow !== null, status === 405, `${method} ${path}: allow`);
  }
});

t.test('bookie admin: not ready, failed, closed -> 503 and what is wrong', async (t) => {
  const { ask, ready, bookie } = await world(t);
  ready.isReady = false;
  t.match(await ask('GET', '/api/v1/bookie/is_ready'), { status: 503, value: { error: /not ready/ } });
  await bookie.close();
  t.match(await ask('GET', '/api/v1/bookie/state'), { status: 200, value: { running: false, shuttingDown: true } });
  t.match(await ask('GET', '/api/v1/bookie/sanity'), { status: 200, value: { passed: false, reason: /UNAVAILABLE/ } });
  t.match(await ask('GET', '/api/v1/bookie/info'), { status: 403, value: { error: /UNAVAILABLE/ } });
  t.match(await ask('PUT', '/api/v1/bookie/scrub'), { status: 403, value: { error: /closed/ } });
});
