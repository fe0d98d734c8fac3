import { BookiePool, type ConnectBookie, createLedgerClient } from '@daybook/ledger';
import { type AutoRecovery, type AutoRecoveryOptions, startAutoRecovery } from '@daybook/ledger/repair';
import { createBookieRegistry, createBookieTopology, createLedgerRecords, type MetadataStore } from '@daybook/metadata';
import { Lifecycle } from '@daybook/runtime';
import type { AutoRecoverySettings } from './autorecovery-config.js';
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
    const registry = await createBookieRegistry(store, { clock, logger });
    lifecycle.onClose('bookie registry', () => registry.close());
    const bookies = new BookiePool({ clock, registry, connect, logger });
    lifecycle.onClose('bookie connections', () => bookies.close());
    const records = createLedgerRecords(store);
    const topology = await createBookieTopology(store, { logger });
    lifecycle.onClose('bookie topology', () => topology.close());
    const { minNumRacksPerWriteQuorum, enforceMinNumRacksPerWriteQuorum, minRegionsForDurability } = config;
    const placementRule = { minNumRacksPerWriteQuorum, enforceMinNumRacksPerWriteQuorum, minRegionsForDurability };
    const ledgers = createLedgerClient({ clock, random, records, registry, bookies, logger, topology, options: placementRule });
    lifecycle.onClose('ledger client', () => ledgers.close());
    const recovery = await startAutoRecovery(
      { clock, random, store, records, registry, bookies, ledgers, logger, metrics, name, topology, placementRule },
      recoveryOptions(config),
    );
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
