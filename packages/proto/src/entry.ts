import type { Digest } from './digest.js';
import { protoErrors } from './errors.js';
import type { EntryId, LedgerId } from './ids.js';
import { readInt64, writeInt64 } from './wire/int64.js';

/**
 * An entry as it lies on bookies and travels between them (persisted; BookKeeper's layout). All integers big endian.
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 8 | ledger id, i64 |
 * | 8 | 8 | entry id, i64 |
 * | 16 | 8 | last-add-confirmed its writer knew, i64, -1 for none |
 * | 24 | 8 | length: bytes of all payloads of the ledger up to and including this entry, i64 |
 * | 32 | 0, 4, 8 or 20 | digest (digest.ts) over the 32 bytes above and the payload |
 * | then | | payload |
 */
export const entryHeaderBytes = 32;

/** The largest payload of an entry. A bookie takes entries of this plus {@link entryOverheadBytesMax}. */
export const entryPayloadBytesMax = 5 * 1024 * 1024 + 64 * 1024;

/** Header and the longest digest. */
export const entryOverheadBytesMax = entryHeaderBytes + 20;

const explicitLacHeaderBytes = 16;

/** A verified entry. `payload` is a view into the bytes it was decoded from. */
export interface Entry {
  readonly ledgerId: LedgerId;
  readonly entryId: EntryId;
  readonly lastAddConfirmed: EntryId;
  readonly length: number;
  readonly payload: Buffer;
}

/** Bytes of a whole entry with that payload. */
export function entryBytes(digest: Digest, payloadBytes: number): number {
  return entryHeaderBytes + digest.bytes + payloadBytes;
}

/**
 * Writes an entry at `offset`, where the caller has {@link entryBytes} of room, and returns where it ends. Nothing is allocated: this runs once per
 * message (hence positional arguments, in the order of the bytes).
 */
export function encodeEntry(
  target: Uint8Array,
  offset: number,
  ledgerId: number,
  entryId: number,
  lastAddConfirmed: number,
  length: number,
  payload: Uint8Array,
  digest: Digest,
): number {
  writeInt64(target, offset, ledgerId);
  writeInt64(target, offset + 8, entryId);
  writeInt64(target, offset + 16, lastAddConfirmed);
  writeInt64(target, offset + 24, length);
  const payloadOffset = offset + entryHeaderBytes + digest.bytes;
  target.set(payload, payloadOffset);
  digest.write(target, offset, entryHeaderBytes, payloadOffset, payload.length);
  return payloadOffset + payload.length;
}

/**
 * Reads a whole entry and proves that it is the one asked for. Throws `PROTO_ENTRY_TOO_SHORT`, `PROTO_ENTRY_DIGEST_MISMATCH`, `PROTO_ENTRY_MISPLACED` (its
 * header names another place) or `PROTO_ENTRY_OUT_OF_RANGE`. Without `entryId` any entry of the ledger will do (a bookie's newest).
 */
export function decodeEntry(bytes: Buffer, digest: Digest, ledgerId: LedgerId, entryId?: EntryId): Entry {
  const least = entryHeaderBytes + digest.bytes;
  if (bytes.length < least) throw protoErrors.ENTRY_TOO_SHORT(bytes.length, least);
  const foundLedgerId = readInt64(bytes, 0);
  const foundEntryId = readInt64(bytes, 8);
  if (!digest.verify(bytes, 0, entryHeaderBytes, least, bytes.length - least)) {
    throw protoErrors.ENTRY_DIGEST_MISMATCH(`entry ${entryId ?? foundEntryId} of ledger ${ledgerId}`);
  }
  if (foundLedgerId !== ledgerId || (entryId !== undefined && foundEntryId !== entryId)) {
    throw protoErrors.ENTRY_MISPLACED(
      entryId === undefined ? `an entry of ledger ${ledgerId}` : `entry ${entryId} of ledger ${ledgerId}`,
      `entry ${foundEntryId} of ledger ${foundLedgerId}`,
    );
  }
  return {
    ledgerId,
    entryId: inRange(foundEntryId, 0, 'the id') as EntryId,
    lastAddConfirmed: inRange(readInt64(bytes, 16), -1, 'the last-add-confirmed') as EntryId,
    length: inRange(readInt64(bytes, 24), 0, 'the length'),
    payload: bytes.subarray(least),
  };
}

function inRange(value: number, least: number, field: string): number {
  if (!Number.isSafeInteger(value) || value < least) throw protoErrors.ENTRY_OUT_OF_RANGE(field);
  return value;
}

/** The header fields without a check of anything: for what was checked before, or is about to be. Not a safe integer when the stored value is beyond 2^53. */
export function entryLedgerId(bytes: Uint8Array, offset = 0): LedgerId {
  return readInt64(bytes, offset) as LedgerId;
}

export function entryEntryId(bytes: Uint8Array, offset = 0): EntryId {
  return readInt64(bytes, offset + 8) as EntryId;
}

export function entryLastAddConfirmed(bytes: Uint8Array, offset = 0): EntryId {
  return readInt64(bytes, offset + 16) as EntryId;
}

export function entryLength(bytes: Uint8Array, offset = 0): number {
  return readInt64(bytes, offset + 24);
}

/** What a writer without new entries leaves on bookies to move its last-add-confirmed on: ledger id i64, last-add-confirmed i64, digest over these 16 bytes. */
export function encodeExplicitLac(ledgerId: LedgerId, lastAddConfirmed: EntryId, digest: Digest): Buffer {
  const out = Buffer.alloc(explicitLacHeaderBytes + digest.bytes);
  writeInt64(out, 0, ledgerId);
  writeInt64(out, 8, lastAddConfirmed);
  digest.write(out, 0, explicitLacHeaderBytes, out.length, 0);
  return out;
}

/** What it says, without a check of anything: see {@link entryLedgerId}. */
export function explicitLacOf(bytes: Uint8Array): { ledgerId: LedgerId; lastAddConfirmed: EntryId } {
  return { ledgerId: readInt64(bytes, 0) as LedgerId, lastAddConfirmed: readInt64(bytes, 8) as EntryId };
}

/** Errors as {@link decodeEntry}. */
export function decodeExplicitLac(bytes: Uint8Array, digest: Digest, ledgerId: LedgerId): EntryId {
  const least = explicitLacHeaderBytes + digest.bytes;
  if (bytes.length < least) throw protoErrors.ENTRY_TOO_SHORT(bytes.length, least);
  if (bytes.length > least || !digest.verify(bytes, 0, explicitLacHeaderBytes, least, 0)) {
    throw protoErrors.ENTRY_DIGEST_MISMATCH(`the last-add-confirmed of ledger ${ledgerId}`);
  }
  const found = readInt64(bytes, 0);
  if (found !== ledgerId) throw protoErrors.ENTRY_MISPLACED(`ledger ${ledgerId}`, `ledger ${found}`);
  return inRange(readInt64(bytes, 8), -1, 'the last-add-confirmed') as EntryId;
}
