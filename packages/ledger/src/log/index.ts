export { journalErrors, logErrors } from './errors.js';
export type * from './log-api.js';
export { defaultLogOptions, type LogOptions } from './log-options.js';
export { compareLogPositions, decodePosition, encodePosition, firstPosition, formatPosition, type LogPosition } from './log-position.js';
export { createLogs, type LogsDependencies } from './logs.js';
export { recordBytesMax } from './record-format.js';
export type { CompletedSegment, InProgressSegment, LogSegment, TruncationStatus } from './segment-format.js';
export { endOfStreamTxId, noTxId, type TransactionId } from './transaction-id.js';
export type { NewRecord } from './write-operation.js';
