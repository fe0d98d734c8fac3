import { type AppendBatch, AppendBatchBuilder, createDigest, type EntryId, type LedgerId, ledgerId, masterKey } from '@daybook/proto';

export const testKey = masterKey(Buffer.from('secret'));
export const otherKey = masterKey(Buffer.from('other'));
const digest = createDigest('CRC32C', Buffer.from('secret'));

/** The payload that every test expects under an entry's name. `version` makes another one. */
export function payloadOf(ledger: number, entry: number, bytes = 40, version = 0): Buffer {
  return Buffer.allocUnsafe(bytes).fill(`${ledger}/${entry}/${version}.`);
}

export interface BatchOptions {
  ledger: number;
  first: number;
  count: number;
  bytes?: number;
  isRecovery?: boolean;
  isDeferredSync?: boolean;
  key?: Uint8Array;
  step?: number;
}

export function makeBatch({ ledger, first, count, bytes = 40, isRecovery = false, key = testKey, step = 1 }: BatchOptions): AppendBatch {
  const head = { ledgerId: ledgerId(ledger) as LedgerId, masterKey: key, isRecovery, digest, batchBytesLimit: 1 << 30 };
  const builder = new AppendBatchBuilder(head);
  for (let i = 0; i < count; i++) {
    const id = (first + i * step) as EntryId;
    builder.add(id, (id - 1) as EntryId, (id + 1) * bytes, payloadOf(ledger, id, bytes));
  }
  return builder.finish();
}

/** The bytes that a read of the entry must give. */
export function entryOf(ledger: number, entry: number, bytes = 40): Buffer {
  const batch = makeBatch({ ledger, first: entry, count: 1, bytes });
  return batch.bytes.subarray(batch.offsetAt(0));
}
