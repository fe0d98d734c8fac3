export type { AppendBatch } from './bookie/append-batch.js';
export * from './bookie/service.js';
export * from './ids.js';
export type * from './ledger-metadata.js';
export type { TopicDomain, TopicName } from './topic-name.js';
