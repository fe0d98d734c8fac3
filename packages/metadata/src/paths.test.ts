import { bookieId, topicNameOf } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { checkPath } from './metadata-path.js';
import { ledgerIdOfPath, ledgerIdOfRepairPart, nameOfPart, paths, segmentSequenceOfPart, sequenceOfPath } from './paths.js';

// As Apache BookKeeper 4.17 made them.
const ledgers: [bigint, string][] = [
  [0n, '/ledgers/00/0000/L0000'],
  [123n, '/ledgers/00/0000/L0123'],
  [12_345n, '/ledgers/00/0001/L2345'],
  [2_147_483_646n, '/ledgers/21/4748/L3646'],
  [2_147_483_647n, '/ledgers/000/0000/0021/4748/L3647'],
  [2_147_483_648n, '/ledgers/000/0000/0021/4748/L3648'],
  [500_000_000_000n, '/ledgers/000/0000/5000/0000/L0000'],
  [123_456_789_012_345_678n, '/ledgers/012/3456/7890/1234/L5678'],
  [9_223_372_036_854_775_807n, '/ledgers/922/3372/0368/5477/L5807'],
];

t.test("paths: ledger ids -> BookKeeper's paths, and back", async (tt) => {
  for (const [id, path] of ledgers) {
    tt.equal(paths.ledger(id), path);
    if (id <= BigInt(Number.MAX_SAFE_INTEGER)) tt.equal(paths.ledger(Number(id)), path);
    tt.equal(ledgerIdOfPath(path), id);
  }
  fc.assert(fc.property(fc.bigInt(0n, 2n ** 63n - 1n), (id) => ledgerIdOfPath(paths.ledger(id)) === id));
});

t.test('paths: what is no ledger -> undefined', async (tt) => {
  const others = [
    '/ledgers',
    '/ledgers/available',
    '/ledgers/00/0000',
    '/ledgers/99/9999/L9999',
    '/ledgers/000/0000/0000/0000/L0000',
    '/ledgers/00/0000/X0000',
  ];
  for (const path of [...others, '/ledgers/999/9999/9999/9999/L9999', '/ledgers/00/0000/L00000', '/x/00/0000/L0000'])
    tt.equal(ledgerIdOfPath(path), undefined, path);
});

t.test('paths: topics, cursors, policies -> where Pulsar has them', async (tt) => {
  const topic = topicNameOf('persistent', 'acme', 'plain', 'ünï cödé');
  tt.equal(paths.managedLedger(topic), '/managed-ledgers/acme/plain/persistent/%C3%BCn%C3%AF+c%C3%B6d%C3%A9');
  tt.equal(
    paths.cursor(topicNameOf('persistent', 'acme', 'plain', 'dedup'), 'pulsar.dedup'),
    '/managed-ledgers/acme/plain/persistent/dedup/pulsar.dedup',
  );
  tt.equal(paths.managedLedger(topicNameOf('persistent', 'pulsar', '127.0.0.1:28080', 'x')), '/managed-ledgers/pulsar/127.0.0.1:28080/persistent/x');
  tt.equal(paths.namespace('acme/orders'), '/admin/policies/acme/orders');
  tt.equal(paths.localPolicies('acme/orders'), '/admin/local-policies/acme/orders');
  tt.equal(
    paths.partitionedTopic(topicNameOf('non-persistent', 'acme', 'plain', 'np-parts')),
    '/admin/partitioned-topics/acme/plain/non-persistent/np-parts',
  );
  tt.equal(paths.bundleOwner('acme/orders', '0x00000000_0x40000000'), '/namespace/acme/orders/0x00000000_0x40000000');
  tt.equal(paths.broker('127.0.0.1:28080'), '/loadbalance/brokers/127.0.0.1:28080');
  tt.equal(paths.schema(topicNameOf('persistent', 'acme', 'plain', 'with-schema')), '/schemas/acme/plain/with-schema');
});

t.test('paths: bookies and repair -> where BookKeeper has them', async (tt) => {
  const id = bookieId('127.0.0.1:13181');
  tt.equal(paths.availableBookie(id), '/ledgers/available/127.0.0.1:13181');
  tt.equal(paths.readOnlyBookie(id), '/ledgers/available/readonly/127.0.0.1:13181');
  tt.equal(paths.cookie(id), '/ledgers/cookies/127.0.0.1:13181');
  tt.equal(paths.underreplicatedLedger(123), '/ledgers/underreplication/ledgers/0000/0000/0000/007b/urL0000000123');
  tt.equal(paths.replicationLock(123), '/ledgers/underreplication/locks/urL0000000123');
  for (const id of [0n, 123n, 2_147_483_648n, 9_223_372_036_854_775_807n]) {
    tt.equal(ledgerIdOfRepairPart(paths.underreplicatedLedger(id).split('/').at(-1) as string), id);
  }
  for (const part of ['urL123', 'urL00000000123', 'urL9223372036854775808', '0000', 'urLx', ''])
    tt.equal(ledgerIdOfRepairPart(part), undefined, part);
});

t.test('paths: any name -> one valid part, different for different names, and back', async () => {
  const safe = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((text) => !/\p{Surrogate}/u.test(text));
  const names = fc.oneof(safe, fc.constantFrom('.', '..', '...', 'a/b', '%2E', '%', '+', ' ', 'a b', '100%', '\u0000', '😀', "it's", '~*()!'));
  fc.assert(
    fc.property(names, (name) => {
      for (const path of [paths.cursor('acme/plain/persistent/x', name), paths.tenant(name)]) checkPath(path);
      const parts = paths.cursor('acme/plain/persistent/x', name).split('/');
      return parts.length === 7 && nameOfPart(parts[6] as string) === name && paths.tenant(name).split('/').length === 4;
    }),
  );
});

t.test('paths: names that cannot be -> METADATA_BAD_PATH', async (tt) => {
  for (const make of [
    () => paths.tenant(''),
    () => paths.cursor('x', ''),
    () => paths.cursor('x', '\ud800'),
    () => paths.namespace('acme'),
    () => paths.namespace('a/b/c'),
  ]) {
    tt.throws(make, { code: 'METADATA_BAD_PATH' });
  }
});

t.test('paths: number of a sequential path -> read back; overrun -> undefined', async (tt) => {
  tt.equal(sequenceOfPath('/ledgers/idgen/ID-0000000042', paths.ledgerIds), 42);
  tt.equal(sequenceOfPath('/ledgers/idgen/ID-2147483647', paths.ledgerIds), 2_147_483_647);
  tt.equal(sequenceOfPath('/ledgers/idgen/ID--2147483648', paths.ledgerIds), undefined);
  tt.equal(sequenceOfPath('/ledgers/idgen/ID-', paths.ledgerIds), undefined);
});

t.test('paths: logs, journals, blobs -> one part per name; a segment number comes back', async (tt) => {
  const log = paths.log('a/b c');
  tt.equal(log.segments, '/daybook/logs/a%2Fb+c/<default>/ledgers');
  tt.equal(log.completedSegment(17), `${log.segments}/logrecs_000000000000000017`);
  tt.equal(log.lockMember('node 1', 'ff'), '/daybook/logs/a%2Fb+c/<default>/lock/member_node+1_sff_');
  const journal = paths.journal('edits');
  tt.equal(journal.inProgress(255), '/daybook/journals/edits/ledgers/inprogress_ff');
  tt.equal(journal.finalized(1, 100), '/daybook/journals/edits/ledgers/edits_000000000000000001_000000000000000100');
  tt.equal(paths.blob('..'), '/daybook/blobs/objects/%2E%2E');
  tt.equal(paths.blobUpload('0f'), '/daybook/blobs/uploads/0f');
  for (const path of [log.segments, log.completedSegment(1), log.lock, journal.version, journal.maxTxId, paths.blob('x')]) checkPath(path);
  fc.assert(
    fc.property(fc.nat(), (sequence) => segmentSequenceOfPart(paths.log('a').completedSegment(sequence).split('/').at(-1) as string) === sequence),
  );
  for (const part of ['logrecs_1', 'inprogress_000000000000000001', 'logrecs_00000000000000000x'])
    tt.equal(segmentSequenceOfPart(part), undefined, part);
});
