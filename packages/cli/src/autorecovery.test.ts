import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import t from 'tap';
import { Daybook, runDaybook, temporaryFolder } from './testing/run-daybook.js';

t.test('daybook autorecovery: against a ZooKeeper server', { skip: process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1' }, async (t) => {
  const zookeeper = await ZooKeeperServer.start();
  t.teardown(() => zookeeper.stop());
  const metadata = `zk://${zookeeper.address}/daybook`;

  await t.test('autorecovery: two of them -> both ready, one is the auditor, metrics and status; ended by SIGTERM with 0', async (t) => {
    const processes = ['one', 'other'].map((name) => new Daybook(['autorecovery', '--metadata', metadata, '--http-port', '0', '--name', name]));
    const bases: string[] = [];
    for (const [i, process] of processes.entries()) {
      t.equal(await process.printed(/Daybook autorecovery (\S+) is ready/), ['one', 'other'][i]);
      bases.push(await process.printed(/(http:\/\/[\d.]+:\d+)\/status/));
    }
    const statusOf = async (base: string) =>
      (await (await fetch(`${base}/status`)).json()) as { auditor?: string; isAuditor: boolean; isEnabled: boolean };
    let all = await Promise.all(bases.map(statusOf));
    for (let i = 0; i < 100 && !all.some(({ isAuditor }) => isAuditor); i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      all = await Promise.all(bases.map(statusOf));
    }
    t.equal(all.filter(({ isAuditor }) => isAuditor).length, 1);
    t.match(all[0], { auditor: /^(one|other)$/, isEnabled: true, underReplicatedLedgers: 0, workingOn: 0, troubled: [] });
    for (const path of ['healthz', 'readyz', 'heartbeat']) t.equal((await fetch(`${bases[0]}/${path}`)).status, 200, path);
    t.equal((await fetch(`${bases[0]}/nothing`)).status, 404);
    t.equal((await fetch(`${bases[0]}/status`, { method: 'POST' })).status, 405);
    t.match(await (await fetch(`${bases[0]}/metrics`)).text(), /^auditor_NUM_UNDER_REPLICATED_LEDGERS 0$/m);
    for (const process of processes) t.equal((await process.end()).code, 0);
  });

  await t.test('bookie with autoRecoveryDaemonEnabled -> audits under its own name', async (t) => {
    const words = ['bookie', '--metadata', metadata, '--data', temporaryFolder(t), '--port', '0', '--http-port', '0', '--bookie-id', 'b1'];
    const bookie = new Daybook([...words, '--set', 'autoRecoveryDaemonEnabled=true']);
    const base = await bookie.printed(/(http:\/\/[\d.]+:\d+)\/metrics/);
    let text = '';
    for (let i = 0; i < 100 && !text.includes('auditor_ELECTED 1'); i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      text = await (await fetch(`${base}/metrics`)).text();
    }
    t.match(text, /^auditor_ELECTED 1$/m);
    t.equal((await bookie.end()).code, 0);
  });
});

t.test('daybook autorecovery: no metadata named -> exit code 2', async (t) => {
  const { code, errors } = await runDaybook(['autorecovery']);
  t.equal(code, 2);
  t.match(errors, /metadata/);
});
