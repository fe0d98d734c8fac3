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
export { bookieCodeNumbers } from './bookie/codes.js';
export { type Addressed, type BookieIdentity, isSameIdentity } from './bookie/identity.js';
export { readEntriesCountMax } from './bookie/read.js';
export * from './bookie/service.js';
export { type BookieMethod, bookieMessageBytesMax, bookieServiceDefinition } from './bookie/service-definition.js';
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
} from './entry.js';
export { protoErrors } from './errors.js';
export * from './ids.js';
export { decodeLedgerMetadata, encodeLedgerMetadata } from './ledger-metadata/codec.js';
export type * from './ledger-metadata.js';
export { masterKey, masterKeyBytes } from './master-key.js';
export * from './message-id.js';
export type { TopicDomain, TopicName } from './topic-name.js';
