import fc from 'fast-check';
import protobuf from 'protobufjs';
import t from 'tap';
import { protoErrors } from '../errors.js';
import { checkTruncations, codeOf, fixture, hex } from '../fixtures.test.support.js';
import type { EntryId, LedgerId, Position } from '../ids.js';
import { decodeManagedCursorInfo, encodeManagedCursorInfo, type ManagedCursorInfo } from './cursor-info.js';
import { type CursorPosition, decodeCursorPosition, encodeCursorPosition } from './cursor-position.js';
import { decodeManagedLedgerInfo, encodeManagedLedgerInfo, type ManagedLedgerInfo, newLedgerInfo } from './ledger-info.js';
import { noBytes } from './parts.js';

interface WirePosition {
  ledgerId: string;
  entryId: string;
}
interface Vectors {
  ledgerInfos: {
    path: string;
    hex: string;
    decoded: { ledgerInfo: Record<string, string>[]; terminatedPosition?: WirePosition; properties?: unknown[] };
  }[];
  cursorInfos: { path: string; hex: string; decoded: Record<string, unknown> }[];
  positions: { hex: string; decoded: Record<string, unknown> }[];
}
const vectors = fixture<Vectors>('managed-ledgers.json');

const position = (wire: WirePosition): Position => ({ ledgerId: Number(wire.ledgerId) as LedgerId, entryId: Number(wire.entryId) as EntryId });
const ranges = (wire: unknown): unknown[] =>
  ((wire ?? []) as { lowerEndpoint: WirePosition; upperEndpoint: WirePosition }[]).map((range) => ({
    lower: position(range.lowerEndpoint),
    upper: position(range.upperEndpoint),
  }));
const longs = (wire: unknown): unknown[] =>
  ((wire ?? []) as { name: string; value: string }[]).map(({ name, value }) => ({ name, value: BigInt(value) }));
const pairs = (wire: unknown): unknown[] => ((wire ?? []) as { name: string; value: string }[]).map(({ name, value }) => ({ key: name, value }));
const number = (text: unknown): number | undefined => (text === undefined ? undefined : Number(text));

t.test('managed ledger info: records of Pulsar -> their fields, and the same bytes again', async (t) => {
  t.ok(vectors.ledgerInfos.length >= 4);
  for (const { path, hex: bytes, decoded } of vectors.ledgerInfos) {
    const info = decodeManagedLedgerInfo(hex(bytes));
    t.same(
      info,
      {
        ledgers: decoded.ledgerInfo.map((ledger) => ({
          ledgerId: Number(ledger.ledgerId),
          entries: number(ledger.entries),
          size: number(ledger.size),
          timestampMs: number(ledger.timestamp),
          unknown: noBytes,
        })),
        terminatedPosition: decoded.terminatedPosition && position(decoded.terminatedPosition),
        properties: decoded.properties ?? [],
        unknown: noBytes,
      },
      path,
    );
    t.equal(encodeManagedLedgerInfo(info).toString('hex'), bytes, path);
  }
  const fresh = encodeManagedLedgerInfo({ ledgers: [newLedgerInfo(7 as LedgerId)], terminatedPosition: undefined, properties: [], unknown: noBytes });
  t.equal(fresh.toString('hex'), '0a0408072000', 'a new ledger is written as Pulsar writes it');
});

t.test('managed cursor info: records of Pulsar -> their fields, and the same bytes again', async (t) => {
  t.ok(vectors.cursorInfos.length >= 6);
  for (const { path, hex: bytes, decoded } of vectors.cursorInfos) {
    const info = decodeManagedCursorInfo(hex(bytes));
    t.same(
      info,
      {
        cursorLedgerId: decoded.cursorsLedgerId === '-1' ? undefined : Number(decoded.cursorsLedgerId),
        markDelete: position({ ledgerId: decoded.markDeleteLedgerId as string, entryId: decoded.markDeleteEntryId as string }),
        individuallyDeleted: ranges(decoded.individualDeletedMessages),
        properties: longs(decoded.properties),
        lastActiveMs: number(decoded.lastActive),
        batchDeletions: [],
        cursorProperties: pairs(decoded.cursorProperties),
        unknown: noBytes,
      },
      path,
    );
    t.equal(encodeManagedCursorInfo(info).toString('hex'), bytes, path);
  }
});

t.test('cursor position: entries of cursor ledgers of Pulsar -> their fields, and the same bytes again', async (t) => {
  t.ok(vectors.positions.length >= 8);
  for (const { hex: bytes, decoded } of vectors.positions) {
    const state = decodeCursorPosition(hex(bytes));
    t.same(state, {
      markDelete: position(decoded as unknown as WirePosition),
      individuallyDeleted: ranges(decoded.individualDeletedMessages),
      properties: longs(decoded.properties),
      batchDeletions: [],
      unknown: noBytes,
    });
    t.equal(encodeCursorPosition(state).toString('hex'), bytes);
  }
});

const anyPosition = fc.record({ ledgerId: fc.maxSafeNat().map((n) => n as LedgerId), entryId: fc.maxSafeNat().map((n) => (n - 1) as EntryId) });
const text = fc.string({ maxLength: 8, unit: 'grapheme' });
const keyValues = fc.array(fc.record({ key: text, value: text }), { maxLength: 3 });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
/** A field with a number that none of the records knows. */
const unknown = fc.constantFrom(noBytes, new Uint8Array([0xfa, 0x3f, 2, 1, 2]));

const anyLedgerInfo: fc.Arbitrary<ManagedLedgerInfo> = fc.record({
  ledgers: fc.array(
    fc.record({
      ledgerId: fc.maxSafeNat().map((n) => n as LedgerId),
      entries: optional(fc.maxSafeNat()),
      size: optional(fc.maxSafeNat()),
      timestampMs: optional(fc.maxSafeNat()),
      unknown,
    }),
    { maxLength: 4 },
  ),
  terminatedPosition: optional(anyPosition),
  properties: keyValues,
  unknown,
});

const shared = {
  individuallyDeleted: fc.array(fc.record({ lower: anyPosition, upper: anyPosition }), { maxLength: 4 }),
  properties: fc.array(fc.record({ name: text, value: int64 }), { maxLength: 3 }),
  batchDeletions: fc.array(fc.record({ position: anyPosition, deleteSet: fc.array(int64, { maxLength: 3 }) }), { maxLength: 3 }),
  unknown,
};
const anyCursorPosition: fc.Arbitrary<CursorPosition> = fc.record({ markDelete: anyPosition, ...shared });
const anyCursorInfo: fc.Arbitrary<ManagedCursorInfo> = fc.record({
  cursorLedgerId: optional(fc.maxSafeNat().map((n) => n as LedgerId)),
  markDelete: optional(anyPosition),
  lastActiveMs: optional(fc.maxSafeNat()),
  cursorProperties: keyValues,
  ...shared,
});

t.test('managed ledger records: any record, unknown fields included -> the same after a round trip', async (t) => {
  fc.assert(fc.property(anyLedgerInfo, (info) => t.same(decodeManagedLedgerInfo(encodeManagedLedgerInfo(info)), info)));
  fc.assert(fc.property(anyCursorInfo, (info) => t.same(decodeManagedCursorInfo(encodeManagedCursorInfo(info)), info)));
  fc.assert(fc.property(anyCursorPosition, (state) => t.same(decodeCursorPosition(encodeCursorPosition(state)), state)));
});

/** Pulsar's definitions, for a second implementation of the same messages. */
const definitions = protobuf.parse(`syntax = "proto2";
  message P { required int64 ledgerId = 1; required int64 entryId = 2; }
  message R { required P lowerEndpoint = 1; required P upperEndpoint = 2; }
  message L { required string name = 1; required int64 value = 2; }
  message B { required P position = 1; repeated int64 deleteSet = 2; }
  message PositionInfo { required int64 ledgerId = 1; required int64 entryId = 2; repeated R individualDeletedMessages = 3; repeated L properties = 4;
    repeated B batchedEntryDeletionIndexInfo = 5; }`).root;

t.test('cursor position: batches half acknowledged -> the bytes of a second implementation', async (t) => {
  const type = definitions.lookupType('PositionInfo');
  const at = (ledgerId: number, entryId: number): Position => ({ ledgerId: ledgerId as LedgerId, entryId: entryId as EntryId });
  const theirs = type
    .encode(
      type.fromObject({
        ledgerId: 3,
        entryId: 4,
        individualDeletedMessages: [{ lowerEndpoint: { ledgerId: 3, entryId: 5 }, upperEndpoint: { ledgerId: 3, entryId: 9 } }],
        batchedEntryDeletionIndexInfo: [{ position: { ledgerId: 3, entryId: 10 }, deleteSet: ['5', '-1'] }],
      }),
    )
    .finish();
  const state: CursorPosition = {
    markDelete: at(3, 4),
    individuallyDeleted: [{ lower: at(3, 5), upper: at(3, 9) }],
    properties: [],
    batchDeletions: [{ position: at(3, 10), deleteSet: [5n, -1n] }],
    unknown: noBytes,
  };
  t.same(encodeCursorPosition(state), Buffer.from(theirs));
});

t.test('managed ledger records: cut at every length -> a coded error or a first part', async (t) => {
  const error = protoErrors.MANAGED_LEDGER_MALFORMED;
  for (const { hex: bytes, decoded } of vectors.ledgerInfos) {
    checkTruncations(t, hex(bytes), decodeManagedLedgerInfo, error, (info) =>
      info.ledgers.every((ledger, index) => ledger.ledgerId === Number(decoded.ledgerInfo[index]?.ledgerId)),
    );
  }
  for (const { hex: bytes } of vectors.cursorInfos) {
    const whole = decodeManagedCursorInfo(hex(bytes));
    checkTruncations(t, hex(bytes), decodeManagedCursorInfo, error, (info) => info.cursorLedgerId === whole.cursorLedgerId);
  }
  for (const { hex: bytes } of vectors.positions) {
    const whole = decodeCursorPosition(hex(bytes));
    checkTruncations(t, hex(bytes), decodeCursorPosition, error, (state) => state.markDelete.entryId === whole.markDelete.entryId);
  }
});

t.test('managed ledger records: any bytes -> a coded error or a record, nothing else', async () => {
  const decoders = [decodeManagedLedgerInfo, decodeManagedCursorInfo, decodeCursorPosition];
  fc.assert(
    fc.property(fc.constantFrom(...decoders), fc.uint8Array({ maxLength: 60 }), (decode, bytes) => {
      const code = codeOf(() => decode(bytes));
      return code === undefined || code === 'PROTO_MANAGED_LEDGER_MALFORMED';
    }),
    { numRuns: 2000 },
  );
});
