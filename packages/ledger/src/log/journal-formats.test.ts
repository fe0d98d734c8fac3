import type { LedgerId } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { decodeOperations, encodeOperations } from './journal-entry-format.js';
import {
  decodeCurrentInProgress,
  decodeJournalSegment,
  decodeMaxTxId,
  decodeVersion,
  encodeCurrentInProgress,
  encodeJournalSegment,
  encodeVersion,
  type NamespaceInfo,
} from './journal-records.js';

const natural = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const operations = fc
  .tuple(fc.nat({ max: Number.MAX_SAFE_INTEGER - 10 }), fc.array(fc.uint8Array({ maxLength: 30 }), { minLength: 1, maxLength: 6 }))
  .map(([first, payloads]) => payloads.map((payload, i) => ({ txId: first + i, payload: Buffer.from(payload) })));

t.test('journal operations: golden bytes', async (t) => {
  t.equal(
    encodeOperations([{ txId: 258, payload: Buffer.from('hi') }]).toString('hex'),
    ['01', '00000001', '00000002', '0000000000000102', '6869'].join('') +
      encodeOperations([{ txId: 258, payload: Buffer.from('hi') }])
        .toString('hex')
        .slice(-8),
  );
  t.equal(encodeOperations([{ txId: 258, payload: Buffer.from('hi') }]).length, 5 + 16 + 2);
});

t.test('journal operations: any → the same after decoding; cut or changed anywhere → JOURNAL_MALFORMED', async (t) => {
  fc.assert(
    fc.property(operations, fc.nat(), fc.integer({ min: 1, max: 255 }), (all, at, xor) => {
      const entry = encodeOperations(all);
      t.same(decodeOperations(entry, 'entry'), all);
      for (let bytes = 0; bytes < entry.length; bytes++)
        t.throws(() => decodeOperations(entry.subarray(0, bytes), 'entry'), { code: 'JOURNAL_MALFORMED' });
      const changed = Buffer.from(entry);
      changed[at % entry.length] = (changed[at % entry.length] as number) ^ xor;
      t.throws(() => decodeOperations(changed, 'entry'), { code: 'JOURNAL_MALFORMED' });
    }),
    { numRuns: 30 },
  );
  const gap = encodeOperations([
    { txId: 1, payload: Buffer.alloc(0) },
    { txId: 3, payload: Buffer.alloc(0) },
  ]);
  t.throws(() => decodeOperations(gap, 'entry'), /transaction 3 comes after 1/);
});

t.test('journal segment: golden texts, any → the same, others → JOURNAL_MALFORMED', async (t) => {
  const segment = { layoutVersion: -60, ledgerId: 7 as LedgerId, firstTxId: 101, lastTxId: undefined };
  t.equal(encodeJournalSegment(segment), '-60;7;101');
  t.equal(encodeJournalSegment({ ...segment, lastTxId: 200 }), '-60;7;101;200');
  const segments = fc.record({
    layoutVersion: fc.integer(),
    ledgerId: natural.map((id) => id as LedgerId),
    firstTxId: natural,
    lastTxId: fc.option(natural, { nil: undefined }),
  });
  fc.assert(fc.property(segments, (one) => t.same(decodeJournalSegment(encodeJournalSegment(one), 'segment'), one)));
  for (const text of ['', '-60;7', '-60;7;101;200;3', '-60;x;101', '-60;-7;101', '-60;7;101;', ' -60;7;101', '-60;7;1e2'])
    t.throws(() => decodeJournalSegment(text, 'segment'), { code: 'JOURNAL_MALFORMED' }, text);
});

t.test('journal version, pointer and highest transaction: golden texts, and back', async (t) => {
  const info: NamespaceInfo = {
    namespaceId: 1_234,
    clusterId: 'CID-"x"',
    blockPoolId: 'BP-1',
    layoutVersion: -60,
    createdAtMs: 1_700_000_000_000,
    buildVersion: 'b',
    softwareVersion: '2.4.0',
  };
  const text = encodeVersion(info);
  t.equal(
    text,
    'layoutVersion: -1\nnamespaceInfo {\n  buildVersion: "b"\n  unused: 0\n  blockPoolID: "BP-1"\n  storageInfo {\n    layoutVersion: 4294967236\n' +
      '    namespceID: 1234\n    clusterID: "CID-\\"x\\""\n    cTime: 1700000000000\n  }\n  softwareVersion: "2.4.0"\n}\n',
  );
  t.same(decodeVersion(text, 'j'), info);
  for (let length = 0; length < text.length - 1; length += 3)
    t.throws(() => decodeVersion(text.slice(0, length), 'j'), { code: 'JOURNAL_INCOMPLETE_VERSION' });
  const pointer = encodeCurrentInProgress('/daybook/journals/a/ledgers/inprogress_1', 'node-1');
  t.equal(pointer, '-1;/daybook/journals/a/ledgers/inprogress_1;node-1');
  t.equal(decodeCurrentInProgress(pointer, 'pointer'), '/daybook/journals/a/ledgers/inprogress_1');
  t.equal(decodeCurrentInProgress('', 'pointer'), undefined);
  for (const bad of ['-2;/a;b', 'x', '-1']) t.throws(() => decodeCurrentInProgress(bad, 'pointer'), { code: 'JOURNAL_MALFORMED' });
  t.equal(decodeMaxTxId('17', 'max'), 17);
  for (const bad of ['', '-1', '1x', '99999999999999999999']) t.throws(() => decodeMaxTxId(bad, 'max'), { code: 'JOURNAL_MALFORMED' });
});
