import {
  type BookieRegistry,
  type BookieTopology,
  type CookieRecords,
  createCookieRecords,
  type LedgerRecords,
  type MetadataStore,
  RepairLocks,
} from '@daybook/metadata';
import { type Clock, type Logger, type Metrics, type Random, silentLogger } from '@daybook/runtime';
import type { BookiePool } from '../bookie-pool.js';
import type { LedgerClient } from '../ledger-api.js';
import type { PlacementRule } from '../rack-placement.js';
import { Auditor } from './auditor.js';
import type { AuditorOptions } from './auditor-term.js';
import { RateLimit } from './rate-limit.js';
import type { RecoverDependencies } from './recover-bookies.js';
import { RepairMetrics } from './repair-metrics.js';
import { createRepairPlacement } from './repair-placement.js';
import { RepairSettings } from './repair-settings.js';
import { ReplicationWorker, type ReplicationWorkerOptions } from './replication-worker.js';
import { UnderReplication } from './under-replication.js';

/** What repair needs of a process: a session with the metadata, and ways to bookies. Whoever made them closes them, after what was made with them here. */
export interface RepairParts {
  clock: Clock;
  random: Random;
  store: MetadataStore;
  records: LedgerRecords;
  registry: BookieRegistry;
  bookies: BookiePool;
  ledgers: Pick<LedgerClient, 'openWithRecovery'>;
  logger?: Logger;
  metrics?: Metrics;
  /** What others see of it in locks and in the election: different for each process. */
  name: string;
  /** Where bookies stand; without it all count as one rack. */
  topology?: BookieTopology | undefined;
  placementRule?: Partial<PlacementRule> | undefined;
}

export interface RateOptions {
  /** `replicationRateByBytes`, a second; 0: no limit. */
  replicationRateByBytes?: number | undefined;
  replicationRateByEntries?: number | undefined;
}

/** Everything that repairs is made from: of an autorecovery process, or of a tool that works once. */
export interface RepairTools extends RecoverDependencies {
  settings: RepairSettings;
  underReplication: UnderReplication;
  metrics: RepairMetrics;
  cookies: CookieRecords;
  /** Gives locks back. */
  close(): Promise<void>;
}

/** The parts for tools: `recoverBookies`, `decommissionBookie`, listings. Rejects with `REPAIR_UNKNOWN_LAYOUT`. */
export async function openRepairTools(parts: RepairParts, rate: RateOptions = {}): Promise<RepairTools> {
  const { clock, random, store, records, registry, bookies, ledgers, name } = parts;
  const logger = (parts.logger ?? silentLogger).child({ component: 'repair' });
  const locks = new RepairLocks({ store, clock, owner: name });
  const underReplication = new UnderReplication({ store, clock, random, locks });
  await underReplication.prepare();
  return {
    clock,
    random,
    records,
    registry,
    bookies,
    ledgers,
    logger,
    locks,
    underReplication,
    placement: createRepairPlacement({ registry, health: bookies, random, topology: parts.topology, rule: parts.placementRule }),
    rate: new RateLimit({ clock, bytesPerSecond: rate.replicationRateByBytes, entriesPerSecond: rate.replicationRateByEntries }),
    settings: new RepairSettings(store),
    cookies: createCookieRecords(store),
    metrics: new RepairMetrics(parts.metrics),
    close: () => locks.close(),
  };
}

export interface AutoRecoveryOptions extends Partial<AuditorOptions>, Partial<ReplicationWorkerOptions>, RateOptions {}

/** An autorecovery daemon: a candidate for the auditor, and a replication worker. */
export interface AutoRecovery {
  readonly tools: RepairTools;
  readonly worker: ReplicationWorker;
  readonly isAuditor: boolean;
  close(): Promise<void>;
}

export async function startAutoRecovery(parts: RepairParts, options: AutoRecoveryOptions = {}): Promise<AutoRecovery> {
  const tools = await openRepairTools(parts, options);
  await tools.settings.initialiseDelay(options.lostBookieRecoveryDelaySeconds ?? 0);
  const placementProblem = options.placementProblem ?? tools.placement.problemOf;
  const placementImprovable: AuditorOptions['placementImprovable'] = (sizes, ensemble) =>
    tools.placement.improvements({ sizes, ensemble, avoided: [] }).length > 0;
  const auditor = new Auditor({ ...tools, store: parts.store, name: parts.name }, { placementImprovable, ...options, placementProblem });
  const worker = new ReplicationWorker(tools, options);
  auditor.start();
  worker.start();
  return {
    tools,
    worker,
    get isAuditor() {
      return auditor.isLeading;
    },
    async close() {
      await Promise.all([auditor.close(), worker.close()]);
      await tools.close();
    },
  };
}
