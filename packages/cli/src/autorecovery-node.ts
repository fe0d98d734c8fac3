import type { ConnectBookie } from '@daybook/ledger';
import { type AutoRecovery, type AutoRecoveryOptions, startAutoRecovery } from '@daybook/ledger/repair';
import type { MetadataStore } from '@daybook/metadata';
import { Lifecycle } from '@daybook/runtime';
import type { AutoRecoverySettings } from './autorecovery-config.js';
import { connectLedgers } from './connect-ledgers.js';
import type { NodeParts } from './node-parts.js';

export interface AutoRecoveryNodeOptions {
  parts: NodeParts;
  config: AutoRecoverySettings;
  store: MetadataStore;
  connect: ConnectBookie;
  name: string;
}

export interface AutoRecoveryNode {
  recovery: AutoRecovery;
  close(): Promise<void>;
}

/** Auditor and worker with their own ledger client, from metadata and a way to reach bookies: part of `daybook autorecovery` and of `daybook bookie`. */
export async function startAutoRecoveryNode({ parts, config, store, connect, name }: AutoRecoveryNodeOptions): Promise<AutoRecoveryNode> {
  const { clock, random, logger, metrics } = parts;
  const lifecycle = new Lifecycle();
  try {
    const { minNumRacksPerWriteQuorum, enforceMinNumRacksPerWriteQuorum, minRegionsForDurability } = config;
    const placementRule = { minNumRacksPerWriteQuorum, enforceMinNumRacksPerWriteQuorum, minRegionsForDurability };
    const connected = await connectLedgers(lifecycle, { parts, store, connect, client: placementRule });
    const recovery = await startAutoRecovery({ ...connected, clock, random, store, logger, metrics, name, placementRule }, recoveryOptions(config));
    lifecycle.onClose('autorecovery', () => recovery.close());
    return { recovery, close: () => lifecycle.close() };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

function recoveryOptions(config: AutoRecoverySettings): AutoRecoveryOptions {
  return {
    lostBookieRecoveryDelaySeconds: config.lostBookieRecoveryDelay,
    auditorPeriodicBookieCheckIntervalMs: config.auditorPeriodicBookieCheckInterval * 1_000,
    auditorReplicasCheckIntervalMs: config.auditorReplicasCheckInterval * 1_000,
    auditorPeriodicCheckIntervalMs: config.auditorPeriodicCheckInterval * 1_000,
    auditorPeriodicPlacementPolicyCheckIntervalMs: config.auditorPeriodicPlacementPolicyCheckInterval * 1_000,
    repairedPlacementPolicyNotAdheringBookieEnable: config.repairedPlacementPolicyNotAdheringBookieEnable,
    auditorLedgerVerificationPercentage: config.auditorLedgerVerificationPercentage,
    openLedgerRereplicationGracePeriodMs: config.openLedgerRereplicationGracePeriod,
    lockReleaseOfFailedLedgerGracePeriodMs: config.lockReleaseOfFailedLedgerGracePeriod,
    rwRereplicateBackoffMs: config.rwRereplicateBackoffMs,
    replicationRateByBytes: config.replicationRateByBytes,
    replicationRateByEntries: config.replicationRateByEntries,
    concurrentLedgersMax: config.concurrentLedgerRepairs,
  };
}
