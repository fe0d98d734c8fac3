import { explicitLacBytesMax } from '@daybook/proto';
import { crc32c } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { readId, writeId } from './batch-bytes.js';

/**
 * Bytes of `ledgers`, in every ledger directory: which ledgers exist, their master keys and fences, as of some moment at or after the checkpoint's mark.
 * All integers big endian.
 *
 * | offset | size | field |
 * |---|---|---|
 * | 0 | 4 | `DBLS` |
 * | 4 | 4 | format version, 3 (persisted); 2 had no explicit last-add-confirmed, 1 no deleted ledgers |
 * | 8 | 8 | number of the checkpoint it was written for |
 * | 16 | 4 | count of rows |
 * | 20 | 4 | count of explicit last-add-confirmed |
 * | 24 | 8 | 0 |
 * | 32 | 32 x count | per ledger: ledger id 8, flags u32 (bit 0: fenced, bit 1: deleted), master key 20 |
 * | then | 48 x count | per explicit last-add-confirmed: ledger id 8, length u32, as its writer made it, filled up with 0 to 36 |
 * | then | 4 | CRC32C of all bytes before |
 *
 * Of a deleted ledger only the fence is kept, for some days; in place of its master key: when it was deleted, 8 bytes of milliseconds since the epoch, then 0.
 */
const headerBytes = 32;
const rowBytes = 32;
const lacRowBytes = 12 + explicitLacBytesMax;
const formatVersion = 3; // persisted
const magic = 0x44424c53; // 'DBLS', persisted
const fencedFlag = 1; // persisted
const deletedFlag = 2; // persisted

export const ledgerStatesFileName = 'ledgers';

export interface LedgerState {
  ledgerId: number;
  isFenced: boolean;
  masterKey: Uint8Array;
}

/** A ledger that is gone, and was fenced. */
export interface DeletedLedger {
  ledgerId: number;
  deletedAtMs: number;
}

export interface StoredExplicitLac {
  ledgerId: number;
  explicitLac: Uint8Array;
}

export interface LedgerStateSnapshot {
  checkpointNumber: number;
  states: LedgerState[];
  deleted: DeletedLedger[];
  explicitLacs: StoredExplicitLac[];
}

export interface LedgerStateSource {
  readonly count: number;
  all(): Iterable<LedgerState>;
  readonly deletedCount: number;
  allDeleted(): Iterable<DeletedLedger>;
}

export interface ExplicitLacSource {
  readonly count: number;
  all(): Iterable<StoredExplicitLac>;
}

const noLacs: ExplicitLacSource = { count: 0, all: () => [] };

export function encodeLedgerStates(checkpointNumber: number, source: LedgerStateSource, explicitLacs: ExplicitLacSource = noLacs): Buffer {
  const count = source.count + source.deletedCount;
  const out = Buffer.alloc(headerBytes + count * rowBytes + explicitLacs.count * lacRowBytes + 4);
  out.writeUInt32BE(magic, 0);
  out.writeUInt32BE(formatVersion, 4);
  writeId(out, checkpointNumber, 8);
  out.writeUInt32BE(count, 16);
  out.writeUInt32BE(explicitLacs.count, 20);
  let at = headerBytes;
  for (const { ledgerId, isFenced, masterKey } of source.all()) {
    writeId(out, ledgerId, at);
    out.writeUInt32BE(isFenced ? fencedFlag : 0, at + 8);
    out.set(masterKey, at + 12);
    at += rowBytes;
  }
  for (const { ledgerId, deletedAtMs } of source.allDeleted()) {
    writeId(out, ledgerId, at);
    out.writeUInt32BE(fencedFlag | deletedFlag, at + 8);
    writeId(out, deletedAtMs, at + 12);
    at += rowBytes;
  }
  for (const { ledgerId, explicitLac } of explicitLacs.all()) {
    writeId(out, ledgerId, at);
    out.writeUInt32BE(explicitLac.length, at + 8);
    out.set(explicitLac, at + 12);
    at += lacRowBytes;
  }
  out.writeUInt32BE(crc32c(out.subarray(0, out.length - 4)), out.length - 4);
  return out;
}

/** Undefined when the bytes are not a whole file. Throws `BOOKIE_FORMAT_VERSION` for an intact one of another version. */
export function decodeLedgerStates(bytes: Buffer, path: string): LedgerStateSnapshot | undefined {
  if (bytes.length < headerBytes + 4 || bytes.readUInt32BE(0) !== magic) return undefined;
  if (crc32c(bytes.subarray(0, bytes.length - 4)) !== bytes.readUInt32BE(bytes.length - 4)) return undefined;
  const version = bytes.readUInt32BE(4);
  if (version < 1 || version > formatVersion) throw bookieErrors.FORMAT_VERSION(path, version, formatVersion);
  const count = bytes.readUInt32BE(16);
  const lacsCount = bytes.readUInt32BE(20);
  if (bytes.length !== headerBytes + count * rowBytes + lacsCount * lacRowBytes + 4) return undefined;
  const snapshot: LedgerStateSnapshot = { checkpointNumber: readId(bytes, 8), states: [], deleted: [], explicitLacs: [] };
  let at = headerBytes;
  for (let i = 0; i < count; i++, at += rowBytes) {
    const ledgerId = readId(bytes, at);
    const flags = bytes.readUInt32BE(at + 8);
    if ((flags & deletedFlag) !== 0) snapshot.deleted.push({ ledgerId, deletedAtMs: readId(bytes, at + 12) });
    else snapshot.states.push({ ledgerId, isFenced: (flags & fencedFlag) !== 0, masterKey: bytes.subarray(at + 12, at + rowBytes) });
  }
  for (let i = 0; i < lacsCount; i++, at += lacRowBytes) {
    const length = bytes.readUInt32BE(at + 8);
    if (length < 16 || length > explicitLacBytesMax) return undefined;
    snapshot.explicitLacs.push({ ledgerId: readId(bytes, at), explicitLac: bytes.subarray(at + 12, at + 12 + length) });
  }
  return snapshot;
}
