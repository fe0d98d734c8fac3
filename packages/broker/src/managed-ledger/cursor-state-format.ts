import { type CursorPosition, decodeCursorPosition, encodeCursorPosition, type LedgerId, type LongProperty } from '@daybook/proto';
import type { AckSet } from './ack-set.js';
import type { EntryBits } from './entry-bits.js';
import { managedLedgerErrors } from './errors.js';
import { FieldWriter, readFields, signed } from './protobuf-fields.js';

/*
 * An entry of a cursor's ledger (persisted, protobuf): Pulsar's PositionInfo.
 *
 *   1 ledgerId  2 entryId   the mark: everything up to it is acknowledged
 *   3 ranges*               single acknowledgements, (lower, upper]; used up to `rangesMax` of them
 *   4 properties*           {1 name, 2 int64}
 *   6 bitmaps*              {1 ledgerId, 2 words*}: beyond that many ranges; bit n of the 64-bit words stands for entry n
 *
 * The last entry counts. A state that does not fit into one entry takes several with the properties `daybook.part` = 0..n-1 and `daybook.parts` = n;
 * each repeats the mark, and they count together once the last one is there. Reading only the last one gives less acknowledged, never more.
 */
const partName = 'daybook.part';
const partsName = 'daybook.parts';
const rangesMax = 1000;

/** Non-zero 32 bits of a bitmap; they stand for the entries from 32 x `wordIndex` on. */
export interface AckWord {
  readonly ledgerId: LedgerId;
  readonly wordIndex: number;
  readonly word: number;
}

export interface CursorStatePart {
  /** Without our own properties. */
  readonly state: CursorPosition;
  readonly words: readonly AckWord[];
  readonly part: number;
  readonly partsCount: number;
}

const noBytes = new Uint8Array(0);

/** The entries that hold a state, each at most about `entryBytesMax` long. */
export function encodeCursorState(acks: AckSet, properties: ReadonlyMap<string, bigint>, entryBytesMax: number): Buffer[] {
  const own: LongProperty[] = [...properties].map(([name, value]) => ({ name, value }));
  const base = { markDelete: acks.mark, individuallyDeleted: [], properties: own, batchDeletions: [], unknown: noBytes };
  const ranges = acks.ranges(rangesMax + 1);
  if (ranges.length <= rangesMax) return [encodeCursorPosition({ ...base, individuallyDeleted: ranges })];
  const parts = packed(
    acks.ledgers().flatMap(([ledgerId, bits]) => encodeBitmaps(ledgerId, bits, entryBytesMax)),
    entryBytesMax,
  );
  return parts.map((unknown, index) => {
    const marks = [
      { name: partName, value: BigInt(index) },
      { name: partsName, value: BigInt(parts.length) },
    ];
    return encodeCursorPosition({ ...base, properties: parts.length > 1 ? [...own, ...marks] : own, unknown });
  });
}

/** As many bitmaps together as fit. */
function packed(bitmaps: readonly Buffer[], bytesMax: number): Buffer[] {
  const parts: FieldWriter[] = [];
  for (const bitmap of bitmaps) {
    let last = parts.at(-1);
    if (last === undefined || last.length + bitmap.length > bytesMax) {
      last = new FieldWriter();
      parts.push(last);
    }
    last.bytes(6, bitmap);
  }
  return parts.map((part) => part.finish());
}

/** One ledger's bits; several messages when one would be too long. Words that were written before are zero in the next. */
function encodeBitmaps(ledgerId: LedgerId, bits: EntryBits, bytesMax: number): Buffer[] {
  const out: Buffer[] = [];
  let message = new FieldWriter().int64(1, ledgerId);
  let nextIndex = 0;
  let pending: { index: number; low: number; high: number } | undefined;
  const flush = () => {
    if (pending === undefined) return;
    if (message.length + (pending.index - nextIndex) * 2 + 11 > bytesMax && nextIndex > 0) {
      out.push(message.finish());
      message = new FieldWriter().int64(1, ledgerId);
      nextIndex = 0;
    }
    for (; nextIndex < pending.index; nextIndex++) message.halves64(2, 0, 0);
    message.halves64(2, pending.low, pending.high);
    nextIndex = pending.index + 1;
    pending = undefined;
  };
  bits.forEachWord((wordIndex, word) => {
    const index = Math.floor(wordIndex / 2);
    if (pending !== undefined && pending.index !== index) flush();
    pending ??= { index, low: 0, high: 0 };
    if (wordIndex % 2 === 0) pending.low = word;
    else pending.high = word;
  });
  flush();
  out.push(message.finish());
  return out;
}

/** Throws `PROTO_MANAGED_LEDGER_MALFORMED`, `MANAGED_LEDGER_BAD_CURSOR_STATE`. */
export function decodeCursorStatePart(entry: Uint8Array): CursorStatePart {
  const stored = decodeCursorPosition(entry);
  const words: AckWord[] = [];
  readFields(stored.unknown, (field) => {
    if (field.number === 6) decodeBitmap(field.bytes, words);
  });
  const own = (name: string) => stored.properties.find((property) => property.name === name)?.value;
  const part = Number(own(partName) ?? 0n);
  const partsCount = Number(own(partsName) ?? 1n);
  if (!(part >= 0 && part < partsCount)) throw managedLedgerErrors.BAD_CURSOR_STATE(`part ${part} of ${partsCount}`);
  const properties = stored.properties.filter(({ name }) => name !== partName && name !== partsName);
  return { state: { ...stored, properties }, words, part, partsCount };
}

function decodeBitmap(bytes: Uint8Array, words: AckWord[]): void {
  let ledgerId = -1 as LedgerId;
  let index = 0;
  readFields(bytes, (field) => {
    if (field.number === 1) ledgerId = signed(field.value) as LedgerId;
    if (field.number !== 2) return;
    const low = Number(field.value & 0xffffffffn);
    const high = Number(field.value >> 32n);
    if (low !== 0) words.push({ ledgerId, wordIndex: index * 2, word: low });
    if (high !== 0) words.push({ ledgerId, wordIndex: index * 2 + 1, word: high });
    index++;
  });
}
