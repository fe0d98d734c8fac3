import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import t from 'tap';
import { Daybook, temporaryFolder } from '../testing/run-daybook.js';
import { CommandRunner } from './testing/command-runner.js';

const isSkipped = process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1';

t.test('daybook shell and HTTP: three bookies, one is lost, one retires', { skip: isSkipped, timeout: 180_000 }, async (t) => {
  const zookeeper = await ZooKeeperServer.start();
  t.teardown(() => zookeeper.stop());
  const DAYBOOK_METADATA = `zk://${zookeeper.address}/daybook`;
  const start = async (id: string, settings: readonly string[] = []) => {
    const words = ['bookie', '--bookie-id', id, '--data', temporaryFolder(t), '--port', '0', '--http-port', '0', '--log-level', 'error'];
    const process = new Daybook([...words, ...settings.flatMap((setting) => ['--set', setting])], { DAYBOOK_METADATA });
    t.teardown(() => process.end());
    return { process, http: await process.printed(/http:\/\/([\d.]+:\d+)\/metrics/) };
  };
  const repairing = ['autoRecoveryDaemonEnabled=true', 'lostBookieRecoveryDelay=3600'];
  const [b1, b2] = await Promise.all([start('b1', repairing), start('b2')]);
  const runner = new CommandRunner({ DAYBOOK_METADATA });
  t.teardown(() => runner.end());
  const ledger = async (...texts: string[]): Promise<number> => {
    const { output } = await runner.run(['ledger', 'append', '-e', '2', '-w', '2', '-a', '2', '-m', ...texts, '--close']);
    return Number(/ledger (\d+)/.exec(output)?.[1]);
  };
  const id = await ledger('one', 'two');
  const second = await ledger(...Array.from({ length: 5 }, (_none, index) => `entry ${index}`));
  const b3 = await start('b3');
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`http://${b1.http}${path}`, { method, ...(body && { body: JSON.stringify(body) }) });
    return { status: response.status, value: (await response.json()) as Record<string, unknown> };
  };
  /** Asks until the answer is like that. */
  const until = async (path: string, isDone: (value: Record<string, unknown>) => boolean) => {
    for (;;) {
      const { value } = await ask('GET', path);
      if (isDone(value)) return value;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };

  const good: readonly (readonly [method: string, path: string, body: object | undefined, expected: object])[] = [
    ['GET', '/api/v1/bookie/list_bookies', undefined, { b1: null, b2: null, b3: null }],
    ['GET', '/api/v1/bookie/list_bookies?type=ro', undefined, {}],
    ['GET', '/api/v1/bookie/list_bookies?type=rw&print_hostnames=true', undefined, { b1: /:\d+$/ }],
    [
      'GET',
      '/api/v1/bookie/list_bookie_info',
      undefined,
      { b1: { free: Number, total: Number }, clusterInfo: { total_free: Number, total: Number } },
    ],
    [
      'GET',
      '/api/v1/bookie/cluster_info',
      undefined,
      { auditorElected: Boolean, totalBookiesCount: 3, writableBookiesCount: 3, readonlyBookiesCount: 0 },
    ],
    ['GET', '/api/v1/ledger/list', undefined, { [id]: null, [second]: null }],
    ['GET', '/api/v1/ledger/list?print_metadata=true&page=1', undefined, { [id]: { state: 'CLOSED' } }],
    ['GET', '/api/v1/ledger/list?page=2', undefined, {}],
    ['GET', `/api/v1/ledger/metadata?ledger_id=${id}`, undefined, { [id]: { state: 'CLOSED', lastEntryId: 1 } }],
    ['GET', `/api/v1/ledger/read?ledger_id=${id}`, undefined, { 0: 'one', 1: 'two' }],
    ['GET', `/api/v1/ledger/read?ledger_id=${second}&start_entry_id=3&end_entry_id=3`, undefined, { 3: 'entry 3' }],
    ['GET', '/api/v1/autorecovery/status', undefined, { enabled: true }],
    ['PUT', '/api/v1/autorecovery/status?enabled=false', undefined, { enabled: false }],
    ['PUT', '/api/v1/autorecovery/status', { enabled: true }, { enabled: true }],
    ['GET', '/api/v1/autorecovery/list_under_replicated_ledger', undefined, []],
    ['GET', '/api/v1/autorecovery/list_under_replicated_ledger?printmissingreplica=true', undefined, {}],
    ['GET', '/api/v1/autorecovery/lost_bookie_recovery_delay', undefined, { delay_seconds: 3600 }],
    ['PUT', '/api/v1/autorecovery/lost_bookie_recovery_delay', { delay_seconds: 1800 }, { delay_seconds: 1800 }],
    ['PUT', '/api/v1/autorecovery/trigger_audit', undefined, { triggered: true }],
    ['GET', '/api/v1/autorecovery/bookie', undefined, { state: 'none' }],
    ['GET', '/api/v1/autorecovery/decommission', undefined, {}],
    ['GET', '/api/v1/bookie/sanity', undefined, { passed: true }],
    ['GET', '/api/v1/config/server_config', undefined, { journalSyncData: true }],
  ];
  await t.test('cluster paths: each -> 200 and its JSON', async (t) => {
    await until('/api/v1/bookie/cluster_info', ({ auditorElected, totalBookiesCount }) => auditorElected === true && totalBookiesCount === 3);
    for (const [method, path, body, expected] of good) {
      const { status, value } = await ask(method, path, body);
      t.equal(status, 200, `${method} ${path}`);
      t.match(value, expected, `${method} ${path}`);
    }
    t.match(await ask('GET', '/api/v1/autorecovery/who_is_auditor'), { status: 200, value: { Auditor: 'b1' } });
  });

  const bad: readonly (readonly [method: string, path: string, body: object | undefined, status: number, says: RegExp])[] = [
    ['GET', '/api/v1/ledger/metadata?ledger_id=4242', undefined, 404, /no ledger 4242/],
    ['GET', '/api/v1/ledger/metadata', undefined, 400, /say ledger_id/],
    ['GET', '/api/v1/ledger/read?ledger_id=x', undefined, 400, /whole number/],
    ['GET', '/api/v1/ledger/list?page=0', undefined, 400, /from 1/],
    ['GET', '/api/v1/ledger/list?print_metadata=maybe', undefined, 400, /true nor false/],
    ['DELETE', '/api/v1/ledger/delete?ledger_id=4242', undefined, 404, /no ledger 4242/],
    ['PUT', '/api/v1/ledger/delete?ledger_id=1', undefined, 405, /DELETE is/],
    ['GET', '/api/v1/bookie/list_bookies?type=x', undefined, 400, /rw, ro, all/],
    ['PUT', '/api/v1/autorecovery/status', undefined, 400, /enabled=true/],
    ['PUT', '/api/v1/autorecovery/lost_bookie_recovery_delay', { delay_seconds: -1 }, 400, /whole number/],
    ['PUT', '/api/v1/autorecovery/lost_bookie_recovery_delay', { delay: 1 }, 400, /unknown field delay/],
    ['PUT', '/api/v1/autorecovery/decommission', {}, 400, /bookie_src/],
    ['PUT', '/api/v1/autorecovery/decommission', { bookie_src: 'a/b' }, 400, /bookie id/],
    ['PUT', '/api/v1/autorecovery/bookie', { bookie_src: [] }, 400, /bookie_src/],
    ['PUT', '/api/v1/autorecovery/bookie', { bookie_src: ['b2'], bookie_dest: ['b3'] }, 400, /placement/],
  ];
  await t.test('cluster paths: wrong -> its status and a text that helps', async (t) => {
    for (const [method, path, body, status, says] of bad) {
      const answer = await ask(method, path, body);
      t.equal(answer.status, status, `${method} ${path}`);
      t.match(answer.value, { error: says }, `${method} ${path}`);
    }
  });

  await t.test('recover: of a lost bookie -> its copies are elsewhere, its cookie is gone', async (t) => {
    await b2.process.end();
    await until('/api/v1/bookie/list_bookies', (bookies) => !('b2' in bookies));
    const dry = await runner.run(['shell', 'recover', 'b2', '-dr']);
    t.match(dry, { code: 0, output: /ledger \d+\tnamed\tclosed\t1 fragments, 2 entries/ });
    const { code, output, errors } = await runner.run(['shell', 'recover', 'b2', '--force', '--deletecookie', '-rate', '1000000', '--json']);
    t.equal(code, 0, errors);
    const rows = output.trim().split('\n');
    const { result } = JSON.parse(rows.at(-1) as string);
    t.match(result, { reports: { repaired: 2, failed: 0 }, entriesCopied: 7, cookiesDeleted: ['b2'] });
    t.match(await runner.run(['shell', 'readledger', String(second), '-b', 'b3', '--msg']), { code: 0, output: /4\t7 bytes\tentry 4/ });
    t.match(await runner.run(['shell', 'listledgers', '--bookieid', 'b2']), { code: 0, output: '' });
    t.match((await runner.run(['shell', 'listbookies', '-a'])).output, /b1[\s\S]*b3/);
    t.notMatch((await runner.run(['shell', 'listbookies', '-a'])).output, /b2/);
  });

  await t.test('decommission: through autorecovery, told over HTTP and in the shell', async (t) => {
    const b4 = await start('b4');
    await b3.process.end();
    await until('/api/v1/bookie/list_bookies', (bookies) => !('b3' in bookies) && 'b4' in bookies);
    t.match(await ask('PUT', '/api/v1/autorecovery/decommission', { bookie_src: 'b3' }), { status: 200, value: { b3: { state: 'running' } } });
    const ended = await until('/api/v1/autorecovery/decommission', (works) => (works.b3 as { state: string }).state !== 'running');
    t.match(ended, { b3: { state: 'done', progress: { phase: 'done', ledgersLeft: 0 } } });
    const again = await runner.run(['shell', 'decommissionbookie', 'b3', '--json']);
    t.match(JSON.parse(again.output), { bookieId: 'b3', ledgersMoved: 0, isCookieDeleted: true });
    t.match(await runner.run(['shell', 'readledger', String(id), '-b', 'b4']), { code: 0, output: /1\t3 bytes/ });
    t.match(await ask('PUT', '/api/v1/autorecovery/bookie', { bookie_src: ['b4'], delete_cookie: true }), {
      status: 200,
      value: { state: 'running' },
    });
    const failed = await until('/api/v1/autorecovery/bookie', ({ state }) => state !== 'running');
    t.match(failed, { state: 'failed', error: /b4 is up/ });
    t.match(await ask('DELETE', `/api/v1/ledger/delete?ledger_id=${id}`), { status: 200, value: { deleted: true } });
    await b4.process.end();
  });
});
