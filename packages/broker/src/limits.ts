import { defineErrors } from '@daybook/runtime';
import type { BrokerConfig } from './config.js';
import type { ManagedLedgerOptions } from './managed-ledger/managed-ledger-api.js';
import type { DispatchLimits } from './subscription/subscription.js';

export const brokerConfigErrors = defineErrors('BROKER_CONFIG', {
  INVALID: { retry: 'never', text: (detail: string) => `these settings do not go together: ${detail}` },
});

const mebibyte = 1024 * 1024;
const minuteMs = 60_000;

/** The settings as the parts of the broker need them. `BROKER_CONFIG_INVALID` when they contradict each other. */
export function brokerLimits(config: BrokerConfig): { ledgers: ManagedLedgerOptions; dispatch: DispatchLimits; tailCacheBytesMax: number } {
  const ensembleSize = config.managedLedgerDefaultEnsembleSize;
  const writeQuorumSize = config.managedLedgerDefaultWriteQuorum;
  const ackQuorumSize = config.managedLedgerDefaultAckQuorum;
  if (ensembleSize < writeQuorumSize || writeQuorumSize < ackQuorumSize) {
    const given = `${ensembleSize}, ${writeQuorumSize}, ${ackQuorumSize}`;
    throw brokerConfigErrors.INVALID(
      `managedLedgerDefaultEnsembleSize >= managedLedgerDefaultWriteQuorum >= managedLedgerDefaultAckQuorum must hold, they are ${given}`,
    );
  }
  const rolloverTimeMinMs = config.managedLedgerMinLedgerRolloverTimeMinutes * minuteMs;
  const rolloverTimeMaxMs = config.managedLedgerMaxLedgerRolloverTimeMinutes * minuteMs;
  if (rolloverTimeMinMs > rolloverTimeMaxMs) {
    throw brokerConfigErrors.INVALID('managedLedgerMinLedgerRolloverTimeMinutes is above managedLedgerMaxLedgerRolloverTimeMinutes');
  }
  return {
    ledgers: {
      ensembleSize,
      writeQuorumSize,
      ackQuorumSize,
      entriesPerLedgerMax: config.managedLedgerMaxEntriesPerLedger,
      bytesPerLedgerMax: config.managedLedgerMaxSizePerLedgerMbytes * mebibyte,
      rolloverTimeMinMs,
      rolloverTimeMaxMs,
    },
    dispatch: {
      unackedPerConsumerMax: config.maxUnackedMessagesPerConsumer,
      unackedPerSubscriptionMax: config.maxUnackedMessagesPerSubscription,
      readEntriesMax: config.dispatcherMaxReadBatchSize,
      readBytesMax: config.dispatcherMaxReadSizeBytes,
    },
    tailCacheBytesMax: config.managedLedgerCacheSizeMB * mebibyte,
  };
}
