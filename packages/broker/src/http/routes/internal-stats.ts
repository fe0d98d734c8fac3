import type { Position } from '@daybook/proto';
import type { CursorStats } from '../../managed-ledger/managed-ledger-api.js';
import type { SubscriptionReading, TopicInternalStats } from '../../topic/topic-api.js';
import { isoTime } from '../../websocket/iso-time.js';

/** The managed ledger's state as Pulsar's PersistentTopicInternalStats: names are Pulsar's, `ensemble` is ours. */
export function internalStatsJson({ log: stats, reading }: TopicInternalStats): Record<string, unknown> {
  const { lastLedgerCreationFailureMs: failureMs } = stats;
  return {
    entriesAddedCounter: stats.entriesAddedCounter,
    numberOfEntries: stats.numberOfEntries,
    totalSize: stats.totalBytes,
    currentLedgerEntries: stats.currentLedgerEntries,
    currentLedgerSize: stats.currentLedgerBytes,
    lastLedgerCreatedTimestamp: isoTime(stats.lastLedgerCreatedMs),
    ...(failureMs === undefined ? {} : { lastLedgerCreationFailureTimestamp: isoTime(failureMs) }),
    waitingCursorsCount: stats.waitingCursorsCount,
    pendingAddEntriesCount: stats.pendingAppendsCount,
    lastConfirmedEntry: positionText(stats.lastConfirmed),
    state: stats.state,
    ledgers: stats.ledgers.map(({ ledgerId, entries, bytes, isUnderReplicated }) => ({
      ledgerId,
      entries,
      size: bytes,
      offloaded: false,
      underReplicated: isUnderReplicated,
    })),
    cursors: Object.fromEntries(Array.from(stats.cursors, ([name, cursor]) => [name, cursorJson(cursor, reading.get(name))])),
    schemaLedgers: [],
    compactedLedger: { ledgerId: -1, entries: -1, size: -1, offloaded: false, underReplicated: false },
    ensemble: stats.ensemble,
  };
}

/** Without a subscription (it is being deleted) nothing is known to be read beyond the mark-delete position. */
function cursorJson(cursor: CursorStats, reading: SubscriptionReading | undefined): Record<string, unknown> {
  const { ledgerId, entryId } = reading?.position ?? cursor.markDeletePosition;
  const ranges = cursor.individuallyDeletedRanges.map(({ after, upTo }) => `(${positionText(after)}..${positionText(upTo)}]`);
  const isReading = reading?.isReading ?? false;
  const isReadingAgain = reading?.isReadingAgain ?? false;
  return {
    markDeletePosition: positionText(cursor.markDeletePosition),
    readPosition: `${ledgerId}:${entryId + 1}`,
    waitingReadOp: reading?.isWaitingForAppend ?? false,
    pendingReadOps: isReading ? 1 : 0,
    messagesConsumedCounter: reading?.acknowledgedCount ?? 0,
    cursorLedger: cursor.cursorLedgerId ?? -1,
    cursorLedgerLastEntry: cursor.cursorLedgerLastEntryId,
    individuallyDeletedMessages: `[${ranges.join(',')}]`,
    lastLedgerSwitchTimestamp: isoTime(cursor.lastLedgerSwitchMs),
    state: cursor.state,
    active: reading?.hasConsumers ?? false,
    numberOfEntriesSinceFirstNotAckedMessage: reading?.entriesSinceMarkDelete ?? 0,
    totalNonContiguousDeletedMessagesRange: cursor.individuallyDeletedRangesCount,
    subscriptionHavePendingRead: (isReading && !isReadingAgain) || (reading?.isWaitingForAppend ?? false),
    subscriptionHavePendingReplayRead: isReadingAgain,
    properties: Object.fromEntries(Array.from(cursor.properties, ([key, value]) => [key, Number(value)])),
  };
}

function positionText({ ledgerId, entryId }: Position): string {
  return `${ledgerId}:${entryId}`;
}
