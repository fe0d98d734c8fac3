import type { LedgerId } from '@daybook/proto';
import type { Clock, Disk, Logger } from '@daybook/runtime';
import type { BookieMetadata } from './bookie-api.js';
import type { BookieConfig } from './config.js';
import type { Identity } from './cookie.js';
import type { GarbageMetrics } from './garbage-metrics.js';
import type { BookieLimits } from './limits.js';
import { Compactor } from './storage/compaction.js';
import { DeletedLedgers } from './storage/deleted-ledgers.js';
import { type CompactionSettings, GarbageCollector, type GarbageSettings } from './storage/gc.js';
import type { LedgerStorage } from './storage/ledger-storage.js';

export interface GarbageParts {
  config: BookieConfig;
  limits: BookieLimits;
  clock: Clock;
  disk: Disk;
  logger: Logger;
  storage: LedgerStorage;
  identity: Identity;
  metadata: BookieMetadata | undefined;
  metrics: GarbageMetrics | undefined;
  flush(): Promise<void>;
  onDeleted(ledgerId: LedgerId): void;
  onFatal(error: unknown): void;
}

/** The garbage collection of a bookie, put together from its configuration. */
export function makeGarbageCollector(parts: GarbageParts): GarbageCollector {
  const { config, limits, clock, disk, storage, metrics, flush, onFatal } = parts;
  const logger = parts.logger.child({ component: 'garbage collection' });
  const compactor = new Compactor({
    storage,
    disk,
    clock,
    entriesPerSecond: config.compactionRateByEntries,
    bytesPerSecond: config.compactionRateByBytes,
    logBytesMax: limits.logBytesMax,
    openIndexBytesMax: limits.openIndexBytesMax,
    keepFreeBytes: limits.compactionKeepFreeBytes,
    onCopied: (copied) => metrics?.noteCopied(copied),
    logger,
  });
  const collector = new GarbageCollector({
    storage,
    compactor,
    clock,
    settings: settingsOf(config),
    deletedLedgers: makeDeletedLedgers(parts),
    flush,
    onRun: (run) => metrics?.noteRun(run),
    onFatal,
    logger,
  });
  metrics?.observe(collector);
  return collector;
}

function makeDeletedLedgers({ storage, clock, config, limits, identity, metadata, onDeleted }: GarbageParts): DeletedLedgers | undefined {
  if (metadata?.ledgers === undefined) return undefined;
  const guard = metadata.guardReplication;
  return new DeletedLedgers({
    storage,
    clock,
    bookieId: identity.bookieId,
    ledgers: metadata.ledgers,
    clusterId: identity.instanceId,
    instanceId: () => metadata.instanceId(),
    ...(guard && { guardReplication: (ledgerId) => guard(ledgerId, identity.bookieId) }),
    metadataOpsPerSecond: config.gcMetadataOpRateLimit,
    ledgerAgeMsMin: limits.gcLedgerAgeMsMin,
    recoveryQuietMs: limits.gcRecoveryQuietMs,
    onDeleted: (ledgerId) => onDeleted(ledgerId as LedgerId),
  });
}

function settingsOf(config: BookieConfig): GarbageSettings {
  return {
    waitMs: config.gcWaitTime,
    foreignWaitMs: config.gcOverreplicatedLedgerWaitTime,
    rollIdleMs: config.entryLogRollIdleMs,
    minor: compactionSettings(config.minorCompactionThreshold, config.minorCompactionInterval, config.minorCompactionMaxTimeMillis),
    major: compactionSettings(config.majorCompactionThreshold, config.majorCompactionInterval, config.majorCompactionMaxTimeMillis),
  };
}

function compactionSettings(threshold: number, intervalSeconds: number, durationMsMax: number): CompactionSettings {
  return { threshold, intervalMs: intervalSeconds * 1000, durationMsMax: durationMsMax < 0 ? Number.POSITIVE_INFINITY : durationMsMax };
}
