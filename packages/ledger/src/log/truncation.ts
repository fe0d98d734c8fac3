import type { Clock } from '@daybook/runtime';
import { compareLogPositions, type LogPosition } from './log-position.js';
import { purgeBelow, type SegmentDependencies } from './segment-changes.js';
import type { CompletedSegment } from './segment-format.js';
import type { TransactionId } from './transaction-id.js';

/**
 * Marks everything before `position` as not needed any more: completed segments wholly below it, and the beginning of the one it is in. Segments in progress are
 * left alone. The records stay until they are purged. Never takes back what was truncated before.
 */
export async function truncateLog({ metadata }: SegmentDependencies, position: LogPosition): Promise<void> {
  const { segments } = await metadata.snapshot();
  for (const { sequence, kind } of segments) {
    if (kind !== 'completed' || sequence > position.sequence) continue;
    await metadata.changeCompleted(sequence, (segment) => truncated(segment, position));
  }
}

function truncated(segment: CompletedSegment, position: LogPosition): CompletedSegment | undefined {
  const { sequence, lastEntryId, lastSlot, status, firstActiveEntryId, firstActiveSlot } = segment;
  if (status === 'truncated') return undefined;
  if (compareLogPositions({ sequence, entryId: lastEntryId, slot: lastSlot }, position) < 0) return { ...segment, status: 'truncated' };
  if (compareLogPositions(position, { sequence, entryId: firstActiveEntryId, slot: firstActiveSlot }) <= 0) return undefined;
  return { ...segment, status: 'partially truncated', firstActiveEntryId: position.entryId, firstActiveSlot: position.slot };
}

/** Removes the completed segments at the beginning whose records are all below `minTxIdToKeep`. */
export async function purgeBelowTxId(d: SegmentDependencies, minTxIdToKeep: TransactionId): Promise<void> {
  await purgePrefix(d, (segment) => segment.lastTxId < minTxIdToKeep);
}

/** Removes the completed segments at the beginning that are older than the log's retention. */
export async function purgeByAge(d: SegmentDependencies, clock: Clock): Promise<void> {
  const { retentionMs, explicitTruncationOnly } = d.options;
  if (retentionMs === undefined) return;
  const bornBeforeMs = clock.wallMs() - retentionMs;
  await purgePrefix(d, (segment) => segment.completedAtMs < bornBeforeMs && (!explicitTruncationOnly || segment.status === 'truncated'));
}

async function purgePrefix(d: SegmentDependencies, isOver: (segment: CompletedSegment) => boolean): Promise<void> {
  const { segments } = await d.metadata.snapshot();
  const firstKept = segments.find((segment) => segment.kind !== 'completed' || !isOver(segment));
  // Also when there is nothing new to purge: an earlier purge may have been cut off.
  await purgeBelow(d, firstKept?.sequence ?? Number.POSITIVE_INFINITY);
}
