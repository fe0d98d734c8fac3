export {
  type AppendAcknowledgement,
  type AppendReply,
  type AppendRequest,
  appendRequestBytesDefault,
  appendStreamVersion,
} from './bookie/append.js';
export {
  type AppendBatch,
  type BatchHead,
  batchBytesDefault,
  batchBytesMax,
  decodeAppendBatch,
  encodeAppendBatchOfEntries,
  entriesCountMax,
  entryBytesInBatch,
} from './bookie/append-batch.js';
export { AppendBatchBuilder, type AppendBatchBuilderOptions } from './bookie/append-batch-builder.js';
export { awaitLacTimeoutMsMax } from './bookie/await-lac.js';
export { bookieCodeNumbers } from './bookie/codes.js';
export { type Addressed, type BookieIdentity, isSameIdentity } from './bookie/identity.js';
export { readEntriesCountMax } from './bookie/read.js';
export { encodeReadPart, type NumberedRead, partsOfReply, type ReadPart, readPartBytesMax } from './bookie/read-stream.js';
export * from './bookie/service.js';
export { type BookieMethod, bookieMessageBytesMax, bookieServiceDefinition } from './bookie/service-definition.js';
export { explicitLacBytesMax } from './bookie/write-lac.js';
export { type BookieEndpoint, type BookieServiceInfo, decodeBookieServiceInfo, encodeBookieServiceInfo } from './bookie-service-info.js';
export { type Cookie, decodeCookie, encodeCookie } from './cookie.js';
export { createDigest, type Digest } from './digest.js';
export {
  decodeEntry,
  decodeExplicitLac,
  type Entry,
  encodeEntry,
  encodeExplicitLac,
  entryBytes,
  entryEntryId,
  entryHeaderBytes,
  entryLastAddConfirmed,
  entryLedgerId,
  entryLength,
  entryOverheadBytesMax,
  entryPayloadBytesMax,
  explicitLacOf,
} from './entry.js';
export { protoErrors } from './errors.js';
export * from './ids.js';
export { type JsonLimits, jsonLimitsDefault, parseJson, stringifyJson } from './json.js';
export { decodeLedgerMetadata, encodeLedgerMetadata } from './ledger-metadata/codec.js';
export { type StripingSizes, storesAnyOf, storesEntry } from './ledger-metadata/striping.js';
export type * from './ledger-metadata.js';
export {
  decodeManagedCursorInfo,
  encodeManagedCursorInfo,
  type ManagedCursorInfo,
} from './managed-ledger-records/cursor-info.js';
export { type CursorPosition, decodeCursorPosition, encodeCursorPosition } from './managed-ledger-records/cursor-position.js';
export {
  decodeManagedLedgerInfo,
  encodeManagedLedgerInfo,
  type LedgerInfo,
  type ManagedLedgerInfo,
  newLedgerInfo,
} from './managed-ledger-records/ledger-info.js';
export { type BatchDeletion, type LongProperty, type MessageRange, noBytes } from './managed-ledger-records/parts.js';
export { masterKey, masterKeyBytes } from './master-key.js';
export { type BatchedMessage, joinBatch, type SingleMessageMetadata, splitBatch } from './message/batch.js';
export { MessageEncoder, type OutgoingMessage } from './message/encoder.js';
export type { Compression, EncryptionKey, KeyValue, MessageMetadata } from './message/metadata.js';
export {
  type BrokerEntryMetadata,
  decodeMessage,
  encodeMessage,
  type StoredMessage,
  verifyMessageChecksum,
  withoutBrokerEntry,
} from './message/payload.js';
export * from './message-id.js';
export { topicHash } from './topic-hash.js';
export * from './topic-name.js';
export {
  blockValue,
  bytesValue,
  numberValue,
  parseTextFormat,
  quoteText,
  type TextField,
  textValue,
} from './wire/text-format.js';
