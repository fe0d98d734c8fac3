export { Auditor, type AuditorElectionDependencies, readAuditor } from './auditor.js';
export { type AuditorOptions, defaultAuditorOptions } from './auditor-term.js';
export type { PlacementProblem } from './audits.js';
export {
  type AutoRecovery,
  type AutoRecoveryOptions,
  openRepairTools,
  type RateOptions,
  type RepairParts,
  type RepairTools,
  startAutoRecovery,
} from './auto-recovery.js';
export {
  cancelDecommission,
  type DecommissionDependencies,
  type DecommissionProgress,
  type DecommissionRequest,
  type DecommissionResult,
  decommissionBookie,
} from './decommission.js';
export type { EntryRun } from './entry-runs.js';
export { repairErrors } from './errors.js';
export {
  badMembers,
  type CheckOptions,
  checkLedger,
  type FragmentHealth,
  type LedgerHealth,
  type MemberHealth,
  type MemberState,
  missingCount,
  type Presence,
} from './ledger-check.js';
export { type LedgerRepairDependencies, type RepairOutcome, type RepairRequest, repairLedger } from './ledger-repair.js';
export { RateLimit } from './rate-limit.js';
export {
  deleteCookieOf,
  type LedgerReport,
  ledgersNaming,
  type RecoverBookiesRequest,
  type RecoverDependencies,
  type RecoverProgress,
  type RecoverResult,
  recoverBookies,
} from './recover-bookies.js';
export type { UnderReplicatedMark } from './repair-format.js';
export { RepairMetrics } from './repair-metrics.js';
export { createRepairPlacement, type RepairPlacement, type RepairPlacementDependencies, type VacantPlace } from './repair-placement.js';
export { type PeriodicCheck, periodicChecks, type RecoveryDelay, RepairSettings } from './repair-settings.js';
export { defaultReplicationWorkerOptions, ReplicationWorker, type ReplicationWorkerOptions } from './replication-worker.js';
export type { TroubledLedger } from './troubled-ledgers.js';
export { type MarkedLedger, type RepairWork, UnderReplication, type UnderReplicationOptions } from './under-replication.js';
