import fc from 'fast-check';
import t from 'tap';
import { createDigest } from './digest.js';
import {
  decodeEntry,
  decodeExplicitLac,
  encodeEntry,
  encodeExplicitLac,
  entryBytes,
  entryEntryId,
  entryHeaderBytes,
  entryLastAddConfirmed,
  entryLedgerId,
  entryLength,
} from './entry.js';
import { protoErrors } from './errors.js';
import { checkTruncations, codeOf, fixture, hex } from './fixtures.test.support.js';
import type { EntryId, LedgerId } from './ids.js';
import type { DigestType } from './ledger-metadata.js';
import { macKey, masterKey } from './master-key.js';

interface Vectors {
  keys: { password: string; masterKey: string; macKey: string }[];
  entries: {
    type: DigestType;
    password: string;
    ledgerId: string;
    entryId: string;
    lastAddConfirmed: string;
    length: string;
    payload: string;
    packet: string;
  }[];
  explicitLac: { type: DigestType; password: string; ledgerId: string; lac: string; packet: string }[];
}
const vectors = fixture<Vectors>('entries.json');
const types: DigestType[] = ['CRC32C', 'CRC32', 'HMAC', 'DUMMY'];
const isSafe = (...ids: string[]): boolean => ids.every((id) => Number.isSafeInteger(Number(id)));

t.test('master key and MAC key: passwords of BookKeeper -> its keys', async (t) => {
  for (const { password, masterKey: master, macKey: mac } of vectors.keys) {
    t.equal(masterKey(hex(password)).toString('hex'), master);
    t.equal(macKey(hex(password)).toString('hex'), mac);
  }
});

t.test('entry: fields of BookKeeper entries -> its bytes, and back', async (t) => {
  let checked = 0;
  for (const row of vectors.entries.filter((row) => isSafe(row.ledgerId, row.entryId, row.lastAddConfirmed, row.length))) {
    const digest = createDigest(row.type, Buffer.from(row.password));
    const payload = hex(row.payload);
    const packet = hex(row.packet);
    const target = Buffer.alloc(packet.length + 7, 0xee);
    const numbers = [Number(row.ledgerId), Number(row.entryId), Number(row.lastAddConfirmed), Number(row.length)] as const;
    t.equal(encodeEntry(target, 3, ...numbers, payload, digest), 3 + packet.length);
    t.same(target.subarray(3, 3 + packet.length), packet);
    t.same([target[2], target.at(-4)], [0xee, 0xee], 'nothing around it is touched');
    const entry = decodeEntry(packet, digest, numbers[0] as LedgerId, numbers[1] as EntryId);
    t.same([entry.ledgerId, entry.entryId, entry.lastAddConfirmed, entry.length], numbers);
    t.same(entry.payload, payload);
    t.same([entryLedgerId(packet), entryEntryId(packet), entryLastAddConfirmed(packet), entryLength(packet)], numbers);
    checked++;
  }
  t.ok(checked > 20);
});

t.test('entry: ids beyond 2^53 -> the digest holds, the ids are refused', async (t) => {
  const rows = vectors.entries.filter((row) => !isSafe(row.ledgerId, row.entryId, row.lastAddConfirmed, row.length));
  t.ok(rows.length > 0);
  for (const row of rows) {
    const digest = createDigest(row.type, Buffer.from(row.password));
    const packet = hex(row.packet);
    const payloadOffset = entryHeaderBytes + digest.bytes;
    t.ok(digest.verify(packet, 0, entryHeaderBytes, payloadOffset, packet.length - payloadOffset));
    const code = codeOf(() => decodeEntry(packet, digest, Number(row.ledgerId) as LedgerId));
    t.ok(code === 'PROTO_ENTRY_OUT_OF_RANGE' || code === 'PROTO_ENTRY_MISPLACED', String(code));
  }
});

t.test('entry: any fields, any digest -> the same after a round trip, without a copy', async () => {
  const id = fc.maxSafeNat();
  fc.assert(
    fc.property(fc.constantFrom(...types), id, id, id, id, fc.uint8Array({ maxLength: 300 }), (type, ledger, entry, lac, length, payload) => {
      const digest = createDigest(type, Buffer.from('pw'));
      const bytes = Buffer.alloc(entryBytes(digest, payload.length));
      encodeEntry(bytes, 0, ledger, entry, lac - 1, length, payload, digest);
      const back = decodeEntry(bytes, digest, ledger as LedgerId, entry as EntryId);
      return back.lastAddConfirmed === lac - 1 && back.length === length && back.payload.equals(payload) && back.payload.buffer === bytes.buffer;
    }),
  );
});

t.test('entry: one flipped bit anywhere -> a coded error', async (t) => {
  for (const type of types.filter((type) => type !== 'DUMMY')) {
    const digest = createDigest(type, Buffer.from('pw'));
    const bytes = Buffer.alloc(entryBytes(digest, 20));
    encodeEntry(bytes, 0, 7, 3, 2, 20, Buffer.alloc(20, 0x61), digest);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const damaged = Buffer.from(bytes);
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
      const code = codeOf(() => decodeEntry(damaged, digest, 7 as LedgerId, 3 as EntryId));
      if (code !== 'PROTO_ENTRY_DIGEST_MISMATCH') t.fail(`${type} bit ${bit}: ${code}`);
    }
  }
});

t.test('entry: cut at every length -> a coded error', async (t) => {
  for (const type of types.filter((type) => type !== 'DUMMY')) {
    const digest = createDigest(type, Buffer.from('pw'));
    const bytes = Buffer.alloc(entryBytes(digest, 9));
    encodeEntry(bytes, 0, 7, 3, 2, 20, Buffer.alloc(9, 0x61), digest);
    checkTruncations(t, bytes, (part) => decodeEntry(part, digest, 7 as LedgerId, 3 as EntryId), [
      protoErrors.ENTRY_TOO_SHORT,
      protoErrors.ENTRY_DIGEST_MISMATCH,
    ]);
  }
});

t.test('entry: of another place, password or type -> a coded error', async (t) => {
  const digest = createDigest('HMAC', Buffer.from('pw'));
  const bytes = Buffer.alloc(entryBytes(digest, 1));
  encodeEntry(bytes, 0, 7, 3, 2, 1, Buffer.from('x'), digest);
  t.equal(
    codeOf(() => decodeEntry(bytes, digest, 7 as LedgerId, 4 as EntryId)),
    'PROTO_ENTRY_MISPLACED',
  );
  t.equal(
    codeOf(() => decodeEntry(bytes, digest, 8 as LedgerId)),
    'PROTO_ENTRY_MISPLACED',
  );
  t.equal(decodeEntry(bytes, digest, 7 as LedgerId).entryId, 3, 'any entry of the ledger when none is named');
  t.equal(
    codeOf(() => decodeEntry(bytes, createDigest('HMAC', Buffer.from('no')), 7 as LedgerId)),
    'PROTO_ENTRY_DIGEST_MISMATCH',
  );
  t.equal(
    codeOf(() => decodeEntry(bytes, createDigest('CRC32C', Buffer.from('pw')), 7 as LedgerId)),
    'PROTO_ENTRY_DIGEST_MISMATCH',
  );
});

t.test('explicit LAC: packets of BookKeeper -> the same bytes, and back; cut -> a coded error', async (t) => {
  for (const row of vectors.explicitLac.filter((row) => isSafe(row.ledgerId, row.lac))) {
    const digest = createDigest(row.type, Buffer.from(row.password));
    const ledger = Number(row.ledgerId) as LedgerId;
    const packet = hex(row.packet);
    t.same(encodeExplicitLac(ledger, Number(row.lac) as EntryId, digest), packet);
    t.equal(decodeExplicitLac(packet, digest, ledger), Number(row.lac));
    t.equal(
      codeOf(() => decodeExplicitLac(packet, digest, (ledger + 1) as LedgerId)),
      'PROTO_ENTRY_MISPLACED',
    );
    checkTruncations(t, packet, (part) => decodeExplicitLac(part, digest, ledger), protoErrors.ENTRY_TOO_SHORT);
  }
});
