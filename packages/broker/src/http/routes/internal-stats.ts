import type { Position } from '@daybook/proto';
import type { CursorStats, ManagedLedgerStats } from '../../managed-ledger/managed-ledger-api.js';
import { isoTime } from '../../websocket/iso-time.js';

/** The managed ledger's state as Pulsar's PersistentTopicInternalStats: names are Pulsar's, `ensemble` is ours. */
export function internalStatsJson(stats: ManagedLedgerStats): Record<string, unknown> {
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
    cursors: Object.fromEntries(Array.from(stats.cursors, ([name, cursor]) => [name, cursorJson(cursor)])),
    schemaLedgers: [],
    compactedLedger: { ledgerId: -1, entries: -1, size: -1, offloaded: false, underReplicated: false },
    ensemble: stats.ensemble,
  };
}

function cursorJson(cursor: CursorStats): Record<string, unknown> {
  const { ledgerId, entryId } = cursor.markDeletePosition;
  const ranges = cursor.individuallyDeletedRanges.map(({ after, upTo }) => `(${positionText(after)}..${positionText(upTo)}]`);
  return {
    markDeletePosition: positionText(cursor.markDeletePosition),
    readPosition: `${ledgerId}:${entryId + 1}`,
    waitingReadOp: false,
    pendingReadOps: 0,
    messagesConsumedCounter: 0,
    cursorLedger: cursor.cursorLedgerId ?? -1,
    cursorLedgerLastEntry: cursor.cursorLedgerLastEntryId,
    individuallyDeletedMessages: `[${ranges.join(',')}]`,
    lastLedgerSwitchTimestamp: isoTime(cursor.lastLedgerSwitchMs),
    state: cursor.state,
    active: cursor.state === 'Open',
    numberOfEntriesSinceFirstNotAckedMessage: 1,
    totalNonContiguousDeletedMessagesRange: ranges.length,
    subscriptionHavePendingRead: false,
    subscriptionHavePendingReplayRead: false,
    properties: {},
  };
}

function positionText({ ledgerId, entryId }: Position): string {
  return `${ledgerId}:${entryId}`;
}
