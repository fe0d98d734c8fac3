import { decoding, Malformed, protoErrors } from '../errors.js';
import { type EntryId, entryId, type LedgerId, ledgerId, type Position } from '../ids.js';
import type { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';

export const noBytes = new Uint8Array(0);

/** Messages that several records of managed ledgers and cursors are made of. All positions are `ledgerId 1, entryId 2`. */

/** Acknowledged entries above the mark: `lower` is excluded, `upper` included. An entry id of -1 is before the first. */
export interface MessageRange {
  readonly lower: Position;
  readonly upper: Position;
}

export interface LongProperty {
  readonly name: string;
  readonly value: bigint;
}

/** Which messages of a batch are still to be acknowledged: one bit each, words of 64. */
export interface BatchDeletion {
  readonly position: Position;
  readonly deleteSet: readonly bigint[];
}

export function decodeRecord<T>(record: string, decode: () => T): T {
  return decoding((detail) => protoErrors.MANAGED_LEDGER_MALFORMED(record, detail), decode);
}

export function writePosition(position: Position): WireWriter {
  return new WireWriter().int(1, position.ledgerId).int(2, position.entryId);
}

export function readPosition(reader: WireReader): Position {
  let ledger: LedgerId | undefined;
  let entry: EntryId | undefined;
  while (reader.next()) {
    if (reader.field === 1) ledger = ledgerId(reader.uint());
    else if (reader.field === 2) entry = readEntryId(reader);
    else reader.skip();
  }
  return completePosition(ledger, entry);
}

export function completePosition(ledger: LedgerId | undefined, entry: EntryId | undefined): Position {
  if (ledger === undefined || entry === undefined) throw new Malformed('a position is not complete');
  return { ledgerId: ledger, entryId: entry };
}

export function readEntryId(reader: WireReader): EntryId {
  const id = reader.int();
  if (id < -1) throw new Malformed(`entry id ${id}`);
  return entryId(id);
}

export function writeRange(range: MessageRange): WireWriter {
  return new WireWriter().message(1, writePosition(range.lower)).message(2, writePosition(range.upper));
}

export function readRange(reader: WireReader): MessageRange {
  let lower: Position | undefined;
  let upper: Position | undefined;
  while (reader.next()) {
    if (reader.field === 1) lower = readPosition(reader.message());
    else if (reader.field === 2) upper = readPosition(reader.message());
    else reader.skip();
  }
  if (lower === undefined || upper === undefined) throw new Malformed('a range is not complete');
  return { lower, upper };
}

export function writeLongs(writer: WireWriter, field: number, properties: readonly LongProperty[]): void {
  for (const { name, value } of properties) writer.message(field, new WireWriter(32).string(1, name).int(2, value));
}

export function readLong(reader: WireReader): LongProperty {
  let name: string | undefined;
  let value: bigint | undefined;
  while (reader.next()) {
    if (reader.field === 1) name = reader.string();
    else if (reader.field === 2) value = reader.int64();
    else reader.skip();
  }
  if (name === undefined || value === undefined) throw new Malformed('a property is not complete');
  return { name, value };
}

export function writeBatchDeletion(deletion: BatchDeletion): WireWriter {
  const writer = new WireWriter().message(1, writePosition(deletion.position));
  for (const word of deletion.deleteSet) writer.int(2, word);
  return writer;
}

export function readBatchDeletion(reader: WireReader): BatchDeletion {
  let position: Position | undefined;
  const deleteSet: bigint[] = [];
  while (reader.next()) {
    if (reader.field === 1) position = readPosition(reader.message());
    else if (reader.field === 2) reader.repeated((one) => deleteSet.push(one.int64()));
    else reader.skip();
  }
  if (position === undefined) throw new Malformed('a batch has no position');
  return { position, deleteSet };
}

/** Unknown fields put together: {@link noBytes} when there are none. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 0 ? noBytes : new Uint8Array(Buffer.concat(parts));
}
