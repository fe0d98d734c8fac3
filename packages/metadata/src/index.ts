export {
  type BookieRack,
  type BookieRacks,
  type BookieTopology,
  bookieRackOf,
  createBookieTopology,
  readBookieRacks,
  updateBookieRacks,
  withBookieRack,
  withoutBookieRack,
} from './bookie-racks.js';
export { decodeBookieRecord, encodeBookieRecord, inProcessBookie } from './bookie-record.js';
export { type BookieRegistration, type RegistrationOptions, registerBookie } from './bookie-registration.js';
export { type BookieRegistry, type BookieRegistryOptions, createBookieRegistry, type RegisteredBookie } from './bookie-registry.js';
export { type CookieRecords, createCookieRecords, initialiseCluster, readInstanceId } from './cluster.js';
export { type EmbeddedOptions, EmbeddedStore, openEmbeddedStore } from './embedded-store.js';
export { clusterErrors, metadataErrors } from './errors.js';
export { type ElectionOptions, type ElectionState, LeaderElection } from './leader-election.js';
export { createLedgerRecords, type LedgerRecords, type VersionedLedger } from './ledger-records.js';
export { decodeHolder, encodeHolder } from './lock-holder.js';
export { type MemoryFaults, type MemorySessionOptions, MemoryStore, MemoryTree, noFaults } from './memory-store.js';
export { pathBytesMax } from './metadata-path.js';
export type * from './metadata-store.js';
export { type OpenStoreOptions, openMetadataStore } from './open-store.js';
export { deleteOwnKey } from './own-key.js';
export { ledgerIdOfPath, ledgerIdOfRepairPart, nameOfPart, paths, segmentSequenceOfPart, sequenceOfPath } from './paths.js';
export { valueBytesMax } from './put-checks.js';
export { type RepairLock, RepairLocks, type RepairLocksOptions } from './repair-locks.js';
