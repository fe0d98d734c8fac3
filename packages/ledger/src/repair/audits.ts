import type { BookieRegistry, LedgerRecords } from '@daybook/metadata';
import type { BookieId, LedgerId } from '@daybook/proto';
import type { Clock, Logger, Random } from '@daybook/runtime';
import type { BookiePool } from '../bookie-pool.js';
import type { QuorumSizes } from '../quorum.js';
import { repairErrors } from './errors.js';
import { bookiesOf, forEachLedger } from './for-each-ledger.js';
import { badMembers, checkLedger, fragmentsOf, type Presence } from './ledger-check.js';
import type { RepairMetrics } from './repair-metrics.js';
import type { UnderReplication } from './under-replication.js';

export interface AuditDependencies {
  clock: Clock;
  random: Random;
  records: LedgerRecords;
  registry: BookieRegistry;
  bookies: BookiePool;
  underReplication: UnderReplication;
  logger: Logger;
  metrics: RepairMetrics;
}

export interface BookieAudit {
  /** Lost, but waited for: their ledgers are left alone. */
  pending: ReadonlySet<BookieId>;
  /** Also when more than half of the bookies are gone. */
  isForced: boolean;
  stop: AbortSignal;
}

/**
 * Marks all ledgers that name a bookie which is not up. Rejects with `REPAIR_TOO_MANY_LOST`, having marked nothing, when more than half of the bookies that
 * ledgers name vanished: then it is rather this side that cannot see them.
 */
export async function auditBookies(dependencies: AuditDependencies, audit: BookieAudit): Promise<{ lost: readonly BookieId[]; markedCount: number }> {
  const { clock, metrics, registry, underReplication, logger } = dependencies;
  const startMs = clock.monoMs();
  const { named, ledgersOfLost } = await ledgersByLostBookie(dependencies, audit.stop);
  const up = new Set(registry.list().map(({ bookieId }) => bookieId));
  // Whoever came back while the ledgers were listed is not lost.
  for (const bookieId of ledgersOfLost.keys()) if (up.has(bookieId)) ledgersOfLost.delete(bookieId);
  const knownCount = new Set([...named, ...up]).size;
  if (!audit.isForced && (up.size === 0 || ledgersOfLost.size * 2 > knownCount)) {
    metrics.auditsHeldBack.add();
    throw repairErrors.TOO_MANY_LOST(ledgersOfLost.size, knownCount, [...ledgersOfLost.keys()].join(', '));
  }
  const lost = [...ledgersOfLost.keys()].filter((bookieId) => !audit.pending.has(bookieId));
  const byLedger = new Map<LedgerId, BookieId[]>();
  for (const bookieId of lost) {
    for (const ledgerId of ledgersOfLost.get(bookieId) ?? []) byLedger.set(ledgerId, [...(byLedger.get(ledgerId) ?? []), bookieId]);
  }
  await markAll(underReplication, byLedger, audit.stop);
  metrics.auditBookiesTime.observe((clock.monoMs() - startMs) / 1_000);
  if (byLedger.size > 0) {
    metrics.lostBookieTime.observe((clock.monoMs() - startMs) / 1_000);
    logger.warn({ lost, ledgers: byLedger.size }, 'bookies are lost: their ledgers are marked for repair');
  }
  return { lost, markedCount: byLedger.size };
}

interface LedgersOfLost {
  named: ReadonlySet<BookieId>;
  ledgersOfLost: Map<BookieId, LedgerId[]>;
}

async function ledgersByLostBookie({ records, registry, logger, metrics }: AuditDependencies, stop: AbortSignal): Promise<LedgersOfLost> {
  const named = new Set<BookieId>();
  const ledgersOfLost = new Map<BookieId, LedgerId[]>();
  await forEachLedger({ records, logger, stop }, (ledgerId, stored) => {
    metrics.ledgersChecked.add();
    for (const bookieId of bookiesOf(stored)) {
      named.add(bookieId);
      if (registry.get(bookieId) !== undefined) continue;
      const ledgers = ledgersOfLost.get(bookieId);
      if (ledgers === undefined) ledgersOfLost.set(bookieId, [ledgerId]);
      else ledgers.push(ledgerId);
    }
  });
  return { named, ledgersOfLost };
}

const concurrentMarks = 16;

async function markAll(underReplication: UnderReplication, byLedger: ReadonlyMap<LedgerId, readonly BookieId[]>, stop: AbortSignal): Promise<void> {
  const queue = byLedger.entries();
  const work = async () => {
    for (const [ledgerId, bookies] of queue) {
      if (stop.aborted) throw repairErrors.STOPPED();
      await underReplication.mark(ledgerId, bookies);
    }
  };
  await Promise.all(Array.from({ length: concurrentMarks }, work));
}

export interface ReplicaAudit {
  /** Share of the entries that is read, besides the first and the last of each fragment; undefined: only what bookies list is compared. */
  readPercent?: number | undefined;
  /** Only ledgers that name one of these, and only what these have. */
  only?: ReadonlySet<BookieId> | undefined;
  /** Only these ledgers. */
  ledgerIds?: Iterable<LedgerId> | undefined;
  stop: AbortSignal;
}

export interface ReplicaFindings {
  markedCount: number;
  /** Ledgers that are still written to, in whose last segment one of `only` is: what it lacks there shows when they are closed. */
  open: LedgerId[];
}

const concurrentChecks = 16;

/** Compares what bookies have of closed fragments with what they should have, and marks the ledgers that lack something. */
export async function auditReplicas(dependencies: AuditDependencies, audit: ReplicaAudit): Promise<ReplicaFindings> {
  const { records, logger, registry, bookies, underReplication, metrics } = dependencies;
  const { only, readPercent, stop, ledgerIds } = audit;
  const findings: ReplicaFindings = { markedCount: 0, open: [] };
  // Bookies known to be away, or to fail, are not asked: each would cost its time-out, ledger by ledger.
  const presence = (bookieId: BookieId): Presence => {
    if (only?.has(bookieId) === false || registry.get(bookieId) === undefined) return 'away';
    return bookies.isQuarantined(bookieId) ? 'silent' : 'up';
  };
  await forEachLedger({ records, logger, stop, ledgerIds, concurrentMax: concurrentChecks }, async (ledgerId, stored) => {
    if (only !== undefined && ![...bookiesOf(stored)].some((bookieId) => only.has(bookieId))) return;
    metrics.ledgersChecked.add();
    const { fragments } = await checkLedger(dependencies, { ledgerId, stored }, { presence, readPercent });
    if (fragments.some(({ isClosed, ensemble }) => !isClosed && ensemble.some((bookieId) => only?.has(bookieId) === true)))
      findings.open.push(ledgerId);
    const bad = fragments.flatMap(badMembers);
    if (bad.length === 0) return;
    findings.markedCount++;
    const isDamaged = bad.some(({ state }) => state === 'damaged');
    logger.warn(
      { ledgerId, bookies: [...new Set(bad.map(({ bookieId }) => bookieId))], isDamaged },
      'copies of a ledger are missing or damaged: it is marked for repair',
    );
    await underReplication.mark(
      ledgerId,
      bad.map(({ bookieId }) => bookieId),
      { isDamaged },
    );
  });
  return findings;
}

/** Says what is wrong with where an ensemble lies; undefined: nothing. */
export type PlacementProblem = (sizes: QuorumSizes, ensemble: readonly BookieId[]) => string | undefined;

export interface PlacementAudit {
  problemOf: PlacementProblem;
  /** Ledgers of which a part that nobody writes any more could lie better, on bookies that are up, are marked, so that workers move copies. */
  isImprovable: ((sizes: QuorumSizes, ensemble: readonly BookieId[]) => boolean) | undefined;
  stop: AbortSignal;
}

/** Counts and tells ledgers whose bookies break the placement policy. */
export async function auditPlacement(dependencies: AuditDependencies, { problemOf, isImprovable, stop }: PlacementAudit): Promise<number> {
  const { records, logger, metrics, underReplication } = dependencies;
  let count = 0;
  await forEachLedger({ records, logger, stop }, async (ledgerId, { metadata }) => {
    metrics.ledgersChecked.add();
    const problem = metadata.segments.map(({ ensemble }) => problemOf(metadata, ensemble)).find((text) => text !== undefined);
    if (problem === undefined) return;
    count++;
    logger.debug({ ledgerId, problem }, 'the bookies of a ledger break the placement policy');
    const isMovable = fragmentsOf(metadata).some(({ isClosed, ensemble }) => isClosed && isImprovable?.(metadata, ensemble) === true);
    if (isMovable) await underReplication.mark(ledgerId, [], { isMisplaced: true });
  });
  if (count > 0) logger.warn({ count }, 'the bookies of some ledgers break the placement policy');
  metrics.ledgersMisplaced.set(count);
  return count;
}
