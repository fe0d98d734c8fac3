import fc from 'fast-check';
import t from 'tap';
import { createDigest } from '../digest.js';
import { decodeEntry, entryPayloadBytesMax } from '../entry.js';
import { protoErrors } from '../errors.js';
import { checkTruncations, codeOf } from '../fixtures.test.support.js';
import type { EntryId, LedgerId } from '../ids.js';
import type { DigestType } from '../ledger-metadata.js';
import { masterKey } from '../master-key.js';
import { batchBytesMax, batchHeaderBytes, decodeAppendBatch, encodeAppendBatchOfEntries, entriesCountMax } from './append-batch.js';
import { AppendBatchBuilder } from './append-batch-builder.js';

const digest = createDigest('CRC32C', Buffer.from('pw'));
const key = masterKey(Buffer.from('pw'));
const ledger = 7 as LedgerId;
const newBuilder = (batchBytesLimit?: number): AppendBatchBuilder =>
  new AppendBatchBuilder({
    ledgerId: ledger,
    masterKey: key,
    isRecovery: false,
    digest,
    ...(batchBytesLimit === undefined ? {} : { batchBytesLimit }),
  });

t.test('append batch: two entries -> exactly these bytes, and back', async (t) => {
  const builder = newBuilder();
  builder.add(3 as EntryId, 2 as EntryId, 20, Buffer.from('hello'));
  builder.add(5 as EntryId, 3 as EntryId, 20, Buffer.alloc(0));
  const batch = builder.finish();
  const entry3 = '0000000000000007' + '0000000000000003' + '0000000000000002' + '0000000000000014' + 'e9857074' + '68656c6c6f';
  const head = '01000000' + '00000002' + '0000000000000007' + '9596625852f7fafc2c9cf0f9f7f3e5995206452b';
  const passwd = new AppendBatchBuilder({ ledgerId: ledger, masterKey: masterKey(Buffer.from('passwd')), isRecovery: true, digest });
  passwd.add(3 as EntryId, 2 as EntryId, 20, Buffer.from('hello'));
  t.equal(
    passwd.finish().bytes.toString('hex'),
    `${head.replace('01000000', '01010000').replace('00000002', '00000001')}0000000000000000000000030000003800000029${entry3}`,
  );
  t.equal(
    batch.bytes.subarray(batchHeaderBytes, batchHeaderBytes + 32).toString('hex'),
    `${'0000000000000003'}${'00000048'}${'00000029'}${'0000000000000005'}${'00000071'}${'00000024'}`,
  );
  const decoded = decodeAppendBatch(Buffer.from(batch.bytes));
  t.same([decoded.ledgerId, decoded.isRecovery, decoded.count], [7, false, 2]);
  t.same(decoded.masterKey(), key);
  t.same([decoded.entryIdAt(0), decoded.entryIdAt(1)], [3, 5]);
});

interface Planned {
  gap: number;
  payload: Uint8Array;
}

/** Puts entries through a builder the way a writer does: asks for room, finishes when there is none. */
function build(builder: AppendBatchBuilder, plan: readonly Planned[]): Buffer[] {
  const batches: Buffer[] = [];
  let id = -1;
  let length = 0;
  for (const { gap, payload } of plan) {
    id += gap;
    length += payload.length;
    if (!builder.hasRoomFor(payload.length)) batches.push(builder.finish().bytes);
    builder.add(id as EntryId, (id - 1) as EntryId, length, payload);
  }
  if (builder.count > 0) batches.push(builder.finish().bytes);
  return batches;
}

t.test('append batch: any entries, any digest, builder used again and again -> every entry comes back once, in order', async (t) => {
  const plan = fc.array(
    fc.record({
      gap: fc.integer({ min: 1, max: 3 }),
      payload: fc.oneof(
        fc.uint8Array({ maxLength: 40 }),
        fc.nat(5000).map((n) => new Uint8Array(n).fill(n)),
      ),
    }),
    { minLength: 1, maxLength: 120 },
  );
  fc.assert(
    fc.property(
      plan,
      fc.constantFrom<DigestType>('CRC32C', 'CRC32', 'HMAC', 'DUMMY'),
      fc.integer({ min: 200, max: 20_000 }),
      (entries, type, limit) => {
        const ledgerDigest = createDigest(type, Buffer.from('pw'));
        const builder = new AppendBatchBuilder({ ledgerId: ledger, masterKey: key, isRecovery: false, digest: ledgerDigest, batchBytesLimit: limit });
        const payloads: Buffer[] = [];
        const ids: number[] = [];
        for (const bytes of build(builder, entries)) {
          const batch = decodeAppendBatch(bytes);
          if (bytes.length > limit && batch.count > 1) return false;
          for (let index = 0; index < batch.count; index++) {
            const entry = bytes.subarray(batch.offsetAt(index), batch.offsetAt(index) + batch.lengthAt(index));
            payloads.push(decodeEntry(entry, ledgerDigest, ledger, batch.entryIdAt(index)).payload);
            ids.push(batch.entryIdAt(index));
          }
        }
        let id = -1;
        const expectedIds = entries.map(({ gap }) => (id += gap));
        return t.same(ids, expectedIds) && payloads.every((payload, i) => payload.equals((entries[i] as Planned).payload));
      },
    ),
    { numRuns: 60 },
  );
});

t.test('append batch: `bytes` while building -> what finish gives', async (t) => {
  const builder = newBuilder();
  t.equal(builder.bytes, 0);
  for (let id = 0; id < 100; id++) builder.add(id as EntryId, -1 as EntryId, id, Buffer.alloc(id * 7));
  const expected = builder.bytes;
  t.equal(builder.finish().bytes.length, expected);
  t.equal(builder.bytes, 0);
});

t.test('append batch builder: limits -> at most entriesCountMax entries, soft bytes, one large entry alone', async (t) => {
  const builder = newBuilder();
  let id = 0;
  while (builder.hasRoomFor(0)) builder.add(id++ as EntryId, -1 as EntryId, 0, Buffer.alloc(0));
  t.equal(builder.count, entriesCountMax);
  t.equal(decodeAppendBatch(builder.finish().bytes).count, entriesCountMax);
  t.ok(builder.hasRoomFor(entryPayloadBytesMax));
  builder.add(id as EntryId, -1 as EntryId, 0, Buffer.alloc(entryPayloadBytesMax));
  t.notOk(builder.hasRoomFor(0));
  const large = builder.finish().bytes;
  t.ok(large.length <= batchBytesMax);
  t.equal(decodeAppendBatch(large).count, 1);
});

t.test('append batch builder: a batch handed out -> is not touched by later ones', async (t) => {
  const builder = newBuilder();
  builder.add(0 as EntryId, -1 as EntryId, 5, Buffer.from('first'));
  const first = builder.finish().bytes;
  const before = Buffer.from(first);
  for (let id = 1; id < 500; id++) builder.add(id as EntryId, -1 as EntryId, 5, Buffer.alloc(300, id));
  builder.finish();
  t.same(first, before);
});

t.test('append batch: cut at every length -> a coded error', async (t) => {
  const builder = newBuilder();
  for (let id = 0; id < 5; id++) builder.add(id as EntryId, -1 as EntryId, 5, Buffer.alloc(id * 3, id));
  checkTruncations(t, builder.finish().bytes, decodeAppendBatch, protoErrors.BATCH_MALFORMED);
});

t.test('append batch: any byte of the structure changed -> a coded error or the same structure', async (t) => {
  const builder = newBuilder();
  for (let id = 3; id < 6; id++) builder.add(id as EntryId, -1 as EntryId, 5, Buffer.alloc(4, id));
  const bytes = builder.finish().bytes;
  const entriesStart = batchHeaderBytes + 3 * 16;
  const masterKeyAt = (at: number): boolean => at >= 16 && at < 36;
  const isIdOfEntry = (at: number): boolean => at >= entriesStart && (at - entriesStart) % 40 < 16;
  for (let at = 0; at < bytes.length; at++) {
    for (const flip of [0x01, 0x80, 0xff]) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] as number) ^ flip;
      const code = codeOf(() => decodeAppendBatch(damaged));
      const isRecoveryFlag = at === 1 && flip === 0x01;
      const isStructure = !masterKeyAt(at) && !isRecoveryFlag && (at < entriesStart || isIdOfEntry(at));
      if (code !== (isStructure ? 'PROTO_BATCH_MALFORMED' : undefined)) t.fail(`byte ${at} ^ ${flip}: ${code}`);
    }
  }
});

t.test('append batch: wrong in one way each -> a coded error', async (t) => {
  const builder = newBuilder();
  builder.add(1 as EntryId, -1 as EntryId, 5, Buffer.from('a'));
  builder.add(2 as EntryId, -1 as EntryId, 5, Buffer.from('b'));
  const good = builder.finish().bytes;
  const changed = (change: (bytes: Buffer) => unknown): Buffer => {
    const bytes = Buffer.from(good);
    change(bytes);
    return bytes;
  };
  const cases: Record<string, Buffer> = {
    'no entry': changed((b) => b.writeUInt32BE(0, 4)),
    'too many entries': changed((b) => b.writeUInt32BE(entriesCountMax + 1, 4)),
    'four billion entries': changed((b) => b.writeUInt32BE(0xffff_ffff, 4)),
    'ids fall': changed((b) => b.writeBigInt64BE(0n, 56)),
    'a negative id': changed((b) => b.writeBigInt64BE(-1n, 40)),
    'an id beyond 2^53': changed((b) => b.writeBigInt64BE(2n ** 60n, 56)),
    'a negative ledger': changed((b) => b.writeBigInt64BE(-7n, 8)),
    'an offset into the table': changed((b) => b.writeUInt32BE(40, 48)),
    'a length beyond the end': changed((b) => b.writeUInt32BE(0xffff_ffff, 68)),
    'an entry shorter than its header': changed((b) => b.writeUInt32BE(31, 52)),
    'another ledger in an entry': changed((b) => b.writeBigInt64BE(8n, b.readUInt32BE(48))),
    'another id in an entry': changed((b) => b.writeBigInt64BE(9n, b.readUInt32BE(48) + 8)),
    'bytes behind the last entry': Buffer.concat([good, Buffer.alloc(1)]),
    'version 2': changed((b) => b.writeUInt8(2, 0)),
  };
  for (const [name, bytes] of Object.entries(cases))
    t.equal(
      codeOf(() => decodeAppendBatch(bytes)),
      'PROTO_BATCH_MALFORMED',
      name,
    );
});

t.test('append batch of entries: whole entries -> a recovery batch with the same bytes', async (t) => {
  const builder = newBuilder();
  for (let id = 0; id < 4; id++) builder.add(id as EntryId, -1 as EntryId, 5, Buffer.alloc(id, id));
  const batch = builder.finish();
  const entries = [0, 1, 2, 3].map((index) => batch.bytes.subarray(batch.offsetAt(index), batch.offsetAt(index) + batch.lengthAt(index)));
  const again = encodeAppendBatchOfEntries({ ledgerId: ledger, masterKey: key, isRecovery: true }, entries);
  t.ok(again.isRecovery);
  const expected = Buffer.from(batch.bytes);
  expected[1] = 1;
  t.same(again.bytes, expected);
  t.equal(
    codeOf(() => encodeAppendBatchOfEntries({ ledgerId: 8 as LedgerId, masterKey: key, isRecovery: true }, entries)),
    'PROTO_BATCH_MALFORMED',
    'entries of another ledger',
  );
});

t.test('append batch: deferred sync -> each batch names the entry that was sent before it', async (t) => {
  const builder = new AppendBatchBuilder({ ledgerId: ledger, masterKey: key, isRecovery: false, isDeferredSync: true, digest });
  const batches = [[0, 1], [4], [7, 8]].map((ids) => {
    for (const id of ids) builder.add(id as EntryId, -1 as EntryId, id, Buffer.from('x'));
    return decodeAppendBatch(Buffer.from(builder.finish().bytes));
  });
  t.same(
    batches.map((batch) => [batch.isDeferredSync, batch.isRecovery, batch.previousEntryId()]),
    [
      [true, false, -1],
      [true, false, 1],
      [true, false, 4],
    ],
  );
  const bytes = Buffer.from((batches[1] as (typeof batches)[0]).bytes);
  bytes.writeUInt32BE(5, 36);
  t.equal(
    codeOf(() => decodeAppendBatch(bytes)),
    'PROTO_BATCH_MALFORMED',
    'before entry 0',
  );
  bytes.writeUInt32BE(1, 36);
  for (const flags of [0, 1, 3]) {
    bytes[1] = flags;
    t.equal(
      codeOf(() => decodeAppendBatch(bytes)),
      'PROTO_BATCH_MALFORMED',
      `flags ${flags}`,
    );
  }
});
