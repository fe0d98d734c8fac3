import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import t from 'tap';
import { Daybook, runDaybook, temporaryFolder } from './testing/run-daybook.js';

const readyPattern = /Daybook bookie (\S+) is ready/;

t.test('daybook bookie: against a ZooKeeper server', { skip: process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1' }, async (t) => {
  const zookeeper = await ZooKeeperServer.start();
  t.teardown(() => zookeeper.stop());
  const metadata = `zk://${zookeeper.address}/daybook`;
  const wordsFor = (folder: string): string[] => ['bookie', '--metadata', metadata, '--data', folder, '--port', '0', '--http-port', '0'];

  await t.test('bookie: started twice on its folder -> the same id, healthy and ready, ended by SIGTERM with 0', async (t) => {
    const folder = temporaryFolder(t);
    const ids: string[] = [];
    for (let round = 0; round < 2; round++) {
      const bookie = new Daybook(wordsFor(folder));
      ids.push(await bookie.printed(readyPattern));
      const base = await bookie.printed(/(http:\/\/[\d.]+:\d+)\/metrics/);
      for (const path of ['healthz', 'readyz', 'metrics']) t.equal((await fetch(`${base}/${path}`)).status, 200, path);
      t.equal((await bookie.end()).code, 0);
    }
    t.equal(ids[0], ids[1]);
  });

  await t.test('bookie: its folder is in use -> exit code 1, one line that says so', async (t) => {
    const folder = temporaryFolder(t);
    const first = new Daybook(wordsFor(folder));
    await first.printed(readyPattern);
    const { code, errors } = await runDaybook(wordsFor(folder));
    t.equal(code, 1);
    t.match(errors, /^daybook: .* is in use by another process: .*\n$/);
    await first.end();
  });

  await t.test('bookie: wiped and started under its old id -> refused, exit code 1', async (t) => {
    const first = new Daybook([...wordsFor(temporaryFolder(t)), '--bookie-id', 'wiped']);
    t.equal(await first.printed(readyPattern), 'wiped');
    await first.end();
    const { code, errors } = await runDaybook([...wordsFor(temporaryFolder(t)), '--bookie-id', 'wiped']);
    t.equal(code, 1);
    t.match(errors, /daybook: this bookie does not start: /);
  });

  await t.test('bookie: settings name its folders -> journal and ledgers are there', async (t) => {
    const folder = temporaryFolder(t);
    const bookie = new Daybook(wordsFor(folder), {
      DAYBOOK_JOURNAL_DIRECTORIES: `${folder}/fast`,
      DAYBOOK_LEDGER_DIRECTORIES: `${folder}/big-1,${folder}/big-2`,
    });
    await bookie.printed(readyPattern);
    await bookie.end();
    const { readdirSync } = await import('node:fs');
    t.same(
      readdirSync(folder).filter((name) => /fast|big/.test(name)),
      ['big-1', 'big-2', 'fast'],
    );
  });
});
