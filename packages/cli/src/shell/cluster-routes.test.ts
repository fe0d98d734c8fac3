import type { AdminMethod, AdminRoute } from '@daybook/bookie/admin';
import { bookieId, ledgerId } from '@daybook/proto';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../testing/run-daybook.js';
import { clusterRoutes } from './cluster-routes.js';
import { repairRoutes } from './repair-routes.js';
import { startMemoryCluster } from './testing/memory-cluster.js';

async function world(t: Test) {
  const cluster = await startMemoryCluster(temporaryFolder(t));
  const { session } = cluster;
  const repair = repairRoutes(async () => session);
  t.teardown(async () => {
    await repair.close();
    await cluster.close();
  });
  const routes: readonly AdminRoute[] = [...clusterRoutes(async () => session), ...repair.routes];
  const call = async (method: AdminMethod, address: string, body?: unknown): Promise<unknown> => {
    const [path, query = ''] = address.split('?');
    const handler = routes.find((route) => route.path === path)?.[method];
    if (handler === undefined) throw new Error(`no ${method} ${path}`);
    return await handler({ query: new URLSearchParams(query), body });
  };
  const write = async (payloads: readonly Uint8Array[]) => {
    const writer = await session.ledgers.create({ ensembleSize: 1, writeQuorumSize: 1, ackQuorumSize: 1, password: Buffer.from('x') });
    await Promise.all(payloads.map((payload) => writer.append(payload)));
    await writer.close();
    return writer.ledgerId;
  };
  return { session, call, write };
}

t.test('ledger routes: pages of ids, records and entries; bytes that are no text are marked', async (t) => {
  const { call, write, session } = await world(t);
  const id = await write([Buffer.from('text'), Buffer.from([0xff, 0x00])]);
  for (let i = 0; i < 100; i++) await session.records.create(ledgerId(1000 + i), await session.ledgers.metadata(id));
  t.equal(Object.keys((await call('GET', '/api/v1/ledger/list')) as object).length, 101);
  t.equal(Object.keys((await call('GET', '/api/v1/ledger/list?page=1')) as object).length, 100);
  t.same(await call('GET', '/api/v1/ledger/list?page=2'), { 1099: null });
  t.equal(Object.keys((await call('GET', '/api/v1/ledger/list?print_metadata=true')) as object).length, 100, 'records come by pages');
  t.match(await call('GET', `/api/v1/ledger/metadata?ledger_id=${id}`), { [id]: { state: 'CLOSED', lastEntryId: 1 } });
  t.notMatch(JSON.stringify(await call('GET', `/api/v1/ledger/metadata?ledger_id=${id}`)), /password/);
  t.same(await call('GET', `/api/v1/ledger/read?ledger_id=${id}`), { 0: 'text', 1: 'base64:/wA=' });
  t.same(await call('GET', `/api/v1/ledger/read?ledger_id=${id}&end_entry_id=0`), { 0: 'text' });
  t.same(await call('GET', `/api/v1/ledger/read?ledger_id=${id}&page=2`), {});
  t.match(await call('DELETE', `/api/v1/ledger/delete?ledger_id=${id}`), { deleted: true });
  await t.rejects(call('DELETE', `/api/v1/ledger/delete?ledger_id=${id}`), { code: 'LEDGER_NOT_FOUND' });
  await t.rejects(call('GET', '/api/v1/ledger/list?page=0'), { code: 'BOOKIE_HTTP_BAD_REQUEST' });
});

t.test('repair routes: a thousand entries a page; marks are listed and filtered', async (t) => {
  const { call, write, session } = await world(t);
  const many = await write(Array.from({ length: 1_005 }, (_none, index) => Buffer.from(`e${index}`)));
  t.equal(Object.keys((await call('GET', `/api/v1/ledger/read?ledger_id=${many}`)) as object).length, 1_000);
  t.equal(Object.keys((await call('GET', `/api/v1/ledger/read?ledger_id=${many}&page=2`)) as object).length, 5);
  const { underReplication } = await session.repair();
  await underReplication.mark(many, [bookieId('b1')]);
  await underReplication.mark(ledgerId(77), [bookieId('b2')]);
  const list = '/api/v1/autorecovery/list_under_replicated_ledger';
  t.same(await call('GET', list), [many, 77]);
  t.same(await call('GET', `${list}?missingreplica=b2`), [77]);
  t.same(await call('GET', `${list}?excludingmissingreplica=b2&printmissingreplica=true`), { [many]: ['b1'] });
  t.match(await call('GET', '/api/v1/bookie/cluster_info'), { clusterUnderReplicated: true, totalBookiesCount: 1, auditorElected: false });
  await t.rejects(call('GET', '/api/v1/autorecovery/who_is_auditor'), { code: 'BOOKIE_HTTP_NOT_FOUND' });
});

t.test('repair routes: long works end in the background, with their reason', async (t) => {
  const { call, write, session } = await world(t);
  await write([Buffer.from('x')]);
  const ended = async (path: string, read: (works: never) => { state: string }): Promise<unknown> => {
    for (;;) {
      const work = read((await call('GET', path)) as never);
      if (work.state !== 'running') return work;
      await session.parts.clock.sleep(5);
    }
  };
  t.match(await call('PUT', '/api/v1/autorecovery/bookie', { bookie_src: ['b1'] }), { state: 'running', bookies: ['b1'] });
  await t.rejects(call('PUT', '/api/v1/autorecovery/bookie', { bookie_src: ['b2'] }), { code: 'BOOKIE_HTTP_REFUSED' });
  const work = await ended('/api/v1/autorecovery/bookie', (found) => found);
  t.match(work, { state: 'failed', failed: [{ outcome: 'failed', reason: /no bookie can take the place of b1/ }] });
  await call('PUT', '/api/v1/autorecovery/decommission', { bookie_src: 'b1' });
  const drained = await ended('/api/v1/autorecovery/decommission', (works: Record<string, { state: string }>) => works.b1 as { state: string });
  t.match(drained, { state: 'failed', error: /b1 still takes entries/ });
});
