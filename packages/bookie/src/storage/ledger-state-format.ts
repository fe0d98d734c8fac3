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
 * | 4 | 4 | format version, 1 (persisted) |
 * | 8 | 8 | number of the checkpoint it was written for |
 * | 16 | 4 | count of ledgers |
 * | 20 | 12 | 0 |
 * | 32 | 32 x count | per ledger: ledger id 8, flags u32 (bit 0: fenced), master key 20 |
 * | then | 4 | CRC32C of all bytes before |
 */
const headerBytes = 32;
const rowBytes = 32;
const formatVersion = 1; // persisted
const magic = 0x44424c53; // 'DBLS', persisted
const fencedFlag = 1; // persisted

export const ledgerStatesFileName = 'ledgers';

export interface LedgerState {
  ledgerId: number;
  isFenced: boolean;
  masterKey: Uint8Array;
}

export function encodeLedgerStates(checkpointNumber: number, count: number, states: Iterable<LedgerState>): Buffer {
  const out = Buffer.alloc(headerBytes + count * rowBytes + 4);
  out.writeUInt32BE(magic, 0);
  out.writeUInt32BE(formatVersion, 4);
  writeId(out, checkpointNumber, 8);
  out.writeUInt32BE(count, 16);
  let at = headerBytes;
  for (const { ledgerId, isFenced, masterKey } of states) {
    writeId(out, ledgerId, at);
    out.writeUInt32BE(isFenced ? fencedFlag : 0, at + 8);
    out.set(masterKey, at + 12);
    at += rowBytes;
  }
  out.writeUInt32BE(crc32c(out.subarray(0, out.length - 4)), out.length - 4);
  return out;
}

/** Undefined when the bytes are not a whole file. Throws `BOOKIE_FORMAT_VERSION` for an intact one of another version. */
export function decodeLedgerStates(bytes: Buffer, path: string): { checkpointNumber: number; states: LedgerState[] } | undefined {
  if (bytes.length < headerBytes + 4 || bytes.readUInt32BE(0) !== magic) return undefined;
  if (crc32c(bytes.subarray(0, bytes.length - 4)) !== bytes.readUInt32BE(bytes.length - 4)) return undefined;
  if (bytes.readUInt32BE(4) !== formatVersion) throw bookieErrors.FORMAT_VERSION(path, bytes.readUInt32BE(4), formatVersion);
  const count = bytes.readUInt32BE(16);
  if (bytes.length !== headerBytes + count * rowBytes + 4) return undefined;
  const states: LedgerState[] = [];
  for (let i = 0, at = headerBytes; i < count; i++, at += rowBytes) {
    const isFenced = (bytes.readUInt32BE(at + 8) & fencedFlag) !== 0;
    states.push({ ledgerId: readId(bytes, at), isFenced, masterKey: bytes.subarray(at + 12, at + rowBytes) });
  }
  return { checkpointNumber: readId(bytes, 8), states };
}
