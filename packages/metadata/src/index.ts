export type { BookieRegistry, RegisteredBookie } from './bookie-registry.js';
export { metadataErrors } from './errors.js';
export type { LedgerRecords, VersionedLedger } from './ledger-records.js';
export type * from './metadata-store.js';
