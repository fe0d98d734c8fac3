import { logErrors } from './errors.js';

/** The application's number for a record: never goes back within a log, need not be unique. */
export type TransactionId = number;

/** Of a log without records. */
export const noTxId: TransactionId = -1;

/** Of the record that ends a log for good; above all others. In bytes and text it is 2^63-1. */
export const endOfStreamTxId: TransactionId = Number.POSITIVE_INFINITY;

/** What stands for {@link endOfStreamTxId} in bytes and text; persisted. */
export const persistedEndOfStream = 9_223_372_036_854_775_807n;

export function checkTxId(txId: TransactionId): void {
  if (!Number.isSafeInteger(txId) || txId < 0) throw logErrors.BAD_TRANSACTION_ID(txId);
}

export function txIdToBigInt(txId: TransactionId): bigint {
  return txId === endOfStreamTxId ? persistedEndOfStream : BigInt(txId);
}

/** Undefined for one that we do not know: beyond 2^53, below -1. */
export function txIdFromBigInt(value: bigint): TransactionId | undefined {
  if (value === persistedEndOfStream) return endOfStreamTxId;
  return value >= -1n && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : undefined;
}
