import { ByteReader, ByteWriter, bytesErrors } from '@daybook/runtime';
import { logErrors } from './errors.js';

/**
 * Where a record is: the sequence number of its segment (from 1), its entry, and its slot in that entry. DistributedLog's DLSN. A place need not have a record:
 * readers start with the first one at or after it.
 *
 * Serialised (persisted by applications): base64 of
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 1 | version, 1 |
 * | 1 | 8 | segment sequence number, i64 |
 * | 9 | 8 | entry id, i64 |
 * | 17 | 8 | slot, i64 |
 */
export interface LogPosition {
  readonly sequence: number;
  readonly entryId: number;
  readonly slot: number;
}

const version = 1;
const bytesOfPosition = 25;

/** Where a log's first record is, unless it was truncated. */
export const firstPosition: LogPosition = { sequence: 1, entryId: 0, slot: 0 };

/** Before every record; "none". */
export const noPosition: LogPosition = { sequence: 0, entryId: -1, slot: -1 };

export function compareLogPositions(a: LogPosition, b: LogPosition): number {
  return a.sequence - b.sequence || a.entryId - b.entryId || a.slot - b.slot;
}

/** The smallest place behind `position`. */
export function nextPosition({ sequence, entryId, slot }: LogPosition): LogPosition {
  return { sequence, entryId, slot: slot + 1 };
}

/** For people: `segment:entry:slot`. */
export function formatPosition({ sequence, entryId, slot }: LogPosition): string {
  return `${sequence}:${entryId}:${slot}`;
}

export function encodePosition({ sequence, entryId, slot }: LogPosition): string {
  return new ByteWriter(bytesOfPosition).u8(version).i64(sequence).i64(entryId).i64(slot).written().toString('base64');
}

/** Rejects everything that {@link encodePosition} does not make, with `LOG_BAD_POSITION`. */
export function decodePosition(text: string): LogPosition {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== bytesOfPosition || bytes[0] !== version) throw logErrors.BAD_POSITION(text);
  try {
    const reader = new ByteReader(bytes, 1);
    const position = { sequence: reader.i64(), entryId: reader.i64(), slot: reader.i64() };
    if (encodePosition(position) === text) return position;
  } catch (error) {
    if (!bytesErrors.OUT_OF_RANGE.is(error)) throw error;
  }
  throw logErrors.BAD_POSITION(text);
}
