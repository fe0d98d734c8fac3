import t from 'tap';
import { type ClusterRequest, planMembers, quorumsFor } from './cluster-plan.js';

const request: ClusterRequest = {
  bookiesCount: 3,
  host: '127.0.0.1',
  metadata: 'zk://127.0.0.1:2181/daybook',
  folder: '/data',
  settings: {},
  environment: { PATH: '/bin' },
  ports: { zookeeper: 1, bookies: [10, 20, 30].map((port) => ({ grpc: port, http: port + 1 })), brokers: [8080, 8081] },
};

for (const [bookies, ensembleSize, writeQuorum, ackQuorum] of [
  [1, 1, 1, 1],
  [2, 2, 2, 2],
  [3, 3, 3, 2],
  [7, 3, 3, 2],
] as const) {
  t.test(`quorums: ${bookies} bookies -> ${ensembleSize}/${writeQuorum}/${ackQuorum}`, async (t) => {
    t.same(quorumsFor(bookies), { ensembleSize, writeQuorum, ackQuorum });
  });
}

t.test('plan: three bookies, two brokers -> each with its own id, folder and ports, all with the metadata', async (t) => {
  const plans = planMembers(request);
  t.same(
    plans.map(({ role, name }) => [role, name]),
    [
      ['bookie', 'bookie-1'],
      ['bookie', 'bookie-2'],
      ['bookie', 'bookie-3'],
      ['broker', 'broker-1'],
      ['broker', 'broker-2'],
    ],
  );
  t.match(
    plans[1]?.arguments.join(' '),
    /^bookie --bookie-id bookie-2 --data \/data\/bookie-2 --port 20 --http-port 21 --metadata zk:\S+ --host 127\.0\.0\.1 --set metadataSessionTimeoutMs=5000 --set autoRecoveryDaemonEnabled=true$/,
  );
  t.match(plans[4]?.arguments.join(' '), /^broker --port 8081 .*--set managedLedgerDefaultEnsembleSize=3 .*WriteQuorum=3 .*AckQuorum=2$/);
});

t.test('plan: settings -> each goes to those who know it, over our own choice', async (t) => {
  const plans = planMembers({
    ...request,
    settings: { journalMaxGroupWaitMSec: '2', maxMessageSize: '9', metadataSessionTimeoutMs: '4000', managedLedgerDefaultAckQuorum: '3' },
  });
  const words = (name: string): string => plans.find((plan) => plan.name === name)?.arguments.join(' ') ?? '';
  t.match(words('bookie-1'), /journalMaxGroupWaitMSec=2/);
  t.notMatch(words('bookie-1'), /maxMessageSize/);
  t.match(words('broker-1'), /maxMessageSize=9/);
  t.notMatch(words('broker-1'), /journalMaxGroupWaitMSec/);
  t.equal(words('broker-1').match(/managedLedgerDefaultAckQuorum=/g)?.length, 1);
  t.match(words('broker-1'), /managedLedgerDefaultAckQuorum=3/);
  for (const name of ['bookie-3', 'broker-2']) t.match(words(name), /metadataSessionTimeoutMs=4000/);
});

t.test('plan: environment -> settings reach those who know them, everything else reaches all', async (t) => {
  const plans = planMembers({
    ...request,
    environment: { PATH: '/bin', DAYBOOK_MAX_MESSAGE_SIZE: '9', DAYBOOK_DEBUG: '1', DAYBOOK_METADATA: 'zk://other:1/x' },
  });
  for (const { role, environment } of plans) {
    t.equal(environment.PATH, '/bin');
    t.equal(environment.DAYBOOK_DEBUG, '1');
    t.equal(environment.DAYBOOK_MAX_MESSAGE_SIZE, role === 'broker' ? '9' : undefined, role);
  }
});

t.test('plan: the environment sets what we would choose -> it wins', async (t) => {
  const plans = planMembers({
    ...request,
    environment: { DAYBOOK_MANAGED_LEDGER_DEFAULT_ACK_QUORUM: '3', DAYBOOK_METADATA_SESSION_TIMEOUT_MS: '9000' },
  });
  for (const { arguments: words } of plans) t.notMatch(words.join(' '), /AckQuorum|metadataSessionTimeoutMs/);
  t.match(plans.at(-1)?.arguments.join(' '), /managedLedgerDefaultWriteQuorum=3/);
});

const refused: readonly (readonly [situation: string, change: Partial<ClusterRequest>, text: RegExp])[] = [
  ['a setting nobody knows', { settings: { frobnicate: '1' } }, /neither brokers nor bookies/],
  ['a setting that differs from member to member', { settings: { port: '1' } }, /one value for all members/],
  ['a variable nobody knows', { environment: { DAYBOOK_FROBNICATE: '1' } }, /DAYBOOK_FROBNICATE/],
  ['a variable that differs from member to member', { environment: { DAYBOOK_JOURNAL_DIRECTORIES: '/x' } }, /one value for all members/],
  ['a settings file', { environment: { DAYBOOK_CONFIG: 'x.json' } }, /takes no settings file/],
];
for (const [situation, change, message] of refused) {
  t.test(`plan: ${situation} -> CLI_USAGE`, async (t) => t.throws(() => planMembers({ ...request, ...change }), { code: 'CLI_USAGE', message }));
}
