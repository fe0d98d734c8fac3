import { type Counter, type Gauge, type Histogram, Metrics } from '@daybook/runtime';

/** From 10 ms to an hour: audits and repairs are long. */
const secondsBuckets: readonly number[] = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

/** Metrics of repair, under BookKeeper's names where the meaning is the same, so that its dashboards go on showing something. */
export class RepairMetrics {
  readonly underReplicatedLedgers: Gauge;
  readonly auditBookiesTime: Histogram;
  readonly lostBookieTime: Histogram;
  readonly checkAllLedgersTime: Histogram;
  readonly replicasCheckTime: Histogram;
  readonly placementCheckTime: Histogram;
  readonly ledgersChecked: Counter;
  readonly auditsDelayed: Counter;
  readonly delayedAuditsCancelled: Counter;
  readonly auditsHeldBack: Counter;
  readonly ledgersMisplaced: Gauge;
  readonly isAuditor: Gauge;
  readonly repairTime: Histogram;
  readonly ledgersReplicated: Counter;
  readonly entriesReplicated: Counter;
  readonly bytesReplicated: Counter;
  readonly repairsFailed: Counter;
  readonly ledgersGivenUp: Gauge;

  constructor(metrics: Metrics = new Metrics()) {
    const counter = (name: string, help: string): Counter => metrics.counter({ name, help }).with({});
    const gauge = (name: string, help: string): Gauge => metrics.gauge({ name, help }).with({});
    const seconds = (name: string, help: string): Histogram => metrics.histogram({ name, help, buckets: secondsBuckets }).with({});
    this.isAuditor = gauge('auditor_ELECTED', '1 when this process is the auditor of the cluster');
    this.underReplicatedLedgers = gauge('auditor_NUM_UNDER_REPLICATED_LEDGERS', 'Ledgers marked for repair, as the auditor counted them last');
    this.auditBookiesTime = seconds(
      'auditor_AUDIT_BOOKIES_TIME',
      'Seconds of an audit that compares the bookies of all ledgers with those that are up',
    );
    this.lostBookieTime = seconds('auditor_URL_PUBLISH_TIME_FOR_LOST_BOOKIE', 'Seconds until all ledgers of lost bookies were marked');
    this.checkAllLedgersTime = seconds('auditor_CHECK_ALL_LEDGERS_TIME', 'Seconds of a check that reads entries of all ledgers');
    this.replicasCheckTime = seconds('auditor_REPLICAS_CHECK_TIME', 'Seconds of a check that compares what bookies have with what they should have');
    this.placementCheckTime = seconds('auditor_PLACEMENT_POLICY_CHECK_TIME', 'Seconds of a check of the placement of all ledgers');
    this.ledgersChecked = counter('auditor_NUM_LEDGERS_CHECKED', 'Ledgers looked at by checks');
    this.auditsDelayed = counter('auditor_NUM_BOOKIE_AUDITS_DELAYED', 'Lost bookies that were waited for (lostBookieRecoveryDelay)');
    this.delayedAuditsCancelled = counter('auditor_NUM_DELAYED_BOOKIE_AUDITS_DELAYES_CANCELLED', 'Lost bookies that came back in time');
    this.auditsHeldBack = counter('auditor_NUM_BOOKIE_AUDITS_HELD_BACK', 'Audits that marked nothing as too many bookies were gone at once');
    this.ledgersMisplaced = gauge('auditor_NUM_LEDGERS_NOT_ADHERING_TO_PLACEMENT_POLICY_GAUGE', 'Ledgers whose bookies break the placement policy');
    this.repairTime = seconds('replication_worker_REREPLICATE_OP', 'Seconds of one repair of a ledger');
    this.ledgersReplicated = counter('replication_worker_NUM_FULL_OR_PARTIAL_LEDGERS_REPLICATED', 'Ledgers that a repair changed');
    this.entriesReplicated = counter('replication_worker_NUM_ENTRIES_REPLICATED', 'Entries copied');
    this.bytesReplicated = counter('replication_worker_NUM_BYTES_REPLICATED', 'Bytes of entries copied');
    this.repairsFailed = counter(
      'replication_worker_NUM_DEFER_LEDGER_LOCK_RELEASE_OF_FAILED_LEDGER',
      'Repairs that failed and are tried again later',
    );
    this.ledgersGivenUp = gauge('replication_worker_NUM_LEDGERS_GIVEN_UP', 'Ledgers that could not be repaired again and again: see the log for why');
  }
}
