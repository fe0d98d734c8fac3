import type { EntryId, LedgerId } from '@daybook/proto';
import { invariant, type Logger } from '@daybook/runtime';
import { ledgerErrors } from '../errors.js';
import type { LedgerClient, LedgerWriter } from '../ledger-api.js';
import { logErrors } from './errors.js';
import type { LogHead } from './head-format.js';
import type { LogMetadata } from './log-metadata.js';
import type { LogOptions } from './log-options.js';
import { decodeRecords } from './record-format.js';
import type { CompletedSegment, InProgressSegment } from './segment-format.js';
import { endOfStreamTxId, type TransactionId } from './transaction-id.js';

export interface SegmentDependencies {
  metadata: LogMetadata;
  ledgers: LedgerClient;
  options: LogOptions;
  logger: Logger;
  nowMs: () => number;
}

/**
 * Each step of a log's life is one compare-and-set of its head; what has to be there before is written before, and what is no longer needed is removed after. So a
 * crash between any two leaves a log that the next owner (or the next purge) brings in order:
 *
 * | step | before | the head | after | left by a crash |
 * |---|---|---|---|---|
 * | claim | lock | names the owner; epoch + 1 | | |
 * | allocate | ledger is created | names it | the one named before is deleted | before: an empty ledger nobody knows |
 * | start | | it is in progress, with the next number | | an empty segment: dropped |
 * | complete | ledger closed, key written | not in progress any more; last txid, count | | recovered: finds the same end |
 * | drop (empty) | marked truncated in the head, ledger deleted | not in progress any more | | dropped again |
 * | purge | | first number | ledgers, then keys below are removed | removed by the next purge or owner |
 * | delete | | deleting | ledgers, keys, at last the head are removed | deleted again |
 */
export async function claimLog(metadata: LogMetadata, owner: string, token: string): Promise<LogHead> {
  const signature = `${owner}#${token}`;
  return metadata.update((head) => (head.owner === signature ? undefined : { ...head, epoch: head.epoch + 1, owner: signature }));
}

/** Throws `LOG_FENCED` when somebody else has claimed the log since, also when it was deleted and made again. */
export function checkClaim(name: string, head: LogHead, claim: string): void {
  if (head.owner !== claim) throw logErrors.FENCED(name, head.owner.replace(/#[^#]*$/, '') || 'another writer');
}

/** Makes a ledger for the next segment. */
export async function allocateLedger(d: SegmentDependencies, claim: string): Promise<LedgerWriter> {
  const { metadata, ledgers, options } = d;
  const { ensembleSize, writeQuorumSize, ackQuorumSize, shrinkToAvailable, digestType, password } = options;
  const customMetadata = new Map([
    ['application', Buffer.from('daybook-log')],
    ['log', Buffer.from(metadata.name)],
  ]);
  const sizes = { ensembleSize, writeQuorumSize, ackQuorumSize, shrinkToAvailable };
  const ledger = await ledgers.create({ ...sizes, digestType, password, customMetadata });
  try {
    let leftOver: LedgerId | undefined;
    await metadata.update((head) => {
      checkClaim(metadata.name, head, claim);
      if (head.allocated === ledger.ledgerId) return undefined;
      leftOver = head.allocated;
      return { ...head, allocated: ledger.ledgerId };
    });
    if (leftOver !== undefined) await ledgers.delete(leftOver);
    return ledger;
  } catch (error) {
    await ledger.close().catch(() => undefined);
    // Unless the head names it after all (the answer was lost), nobody will ever look at it.
    if (logErrors.FENCED.is(error)) await ledgers.delete(ledger.ledgerId).catch(() => undefined);
    throw error;
  }
}

/** For a ledger that was not needed. */
export async function releaseAllocated(d: SegmentDependencies, claim: string): Promise<void> {
  const { head } = await d.metadata.readHead();
  if (head.owner !== claim || head.allocated === undefined) return;
  await d.ledgers.delete(head.allocated);
  await d.metadata.update((current) =>
    current.owner === claim && current.allocated === head.allocated ? { ...current, allocated: undefined } : undefined,
  );
}

export interface StartSegment {
  /** The owner that the head names since we claimed it. */
  claim: string;
  ledgerId: LedgerId;
  firstTxId: TransactionId;
  /** Records of the log before this segment. */
  startSequenceId: number;
}

/** From here on the ledger is a part of the log. */
export async function startSegment(d: SegmentDependencies, start: StartSegment): Promise<InProgressSegment> {
  const { claim, ledgerId, firstTxId, startSequenceId } = start;
  const { metadata } = d;
  const isOurs = (segment: InProgressSegment) => segment.ledgerId === ledgerId;
  const head = await metadata.update((current) => {
    checkClaim(metadata.name, current, claim);
    const known = current.inProgress.find(isOurs);
    if (known?.firstTxId === firstTxId && known.startSequenceId === startSequenceId) return undefined;
    // An earlier attempt of ours that was taken for failed; the segment before has more records now.
    if (known !== undefined) return withSegment(current, { ...known, firstTxId, startSequenceId });
    if (current.lastTxId === endOfStreamTxId) throw logErrors.END_OF_STREAM(metadata.name);
    const sequence = current.highestSequence + 1;
    const place = { status: 'active', firstActiveEntryId: 0, firstActiveSlot: 0 } as const;
    const segment: InProgressSegment = { kind: 'in progress', ledgerId, sequence, firstTxId, startSequenceId, ...place };
    const allocated = current.allocated === ledgerId ? undefined : current.allocated;
    return { ...current, highestSequence: sequence, allocated, inProgress: [...current.inProgress, segment] };
  });
  const segment = head.inProgress.find(isOurs);
  invariant(segment !== undefined, `the segment of ledger ${ledgerId} was started`);
  return segment;
}

function withSegment(head: LogHead, changed: InProgressSegment): LogHead {
  return { ...head, inProgress: head.inProgress.map((segment) => (segment.ledgerId === changed.ledgerId ? changed : segment)) };
}

/** Idempotent, also between several processes: the closed ledger says where the segment ends. */
export async function completeSegment({ metadata }: SegmentDependencies, segment: CompletedSegment): Promise<LogHead> {
  await metadata.writeCompleted(segment);
  return metadata.update((head) => {
    if (!head.inProgress.some(({ ledgerId }) => ledgerId === segment.ledgerId)) return undefined;
    return {
      ...head,
      lastTxId: Math.max(head.lastTxId, segment.lastTxId),
      recordsCount: head.recordsCount + segment.recordsCount,
      inProgress: head.inProgress.filter(({ ledgerId }) => ledgerId !== segment.ledgerId),
    };
  });
}

/** For a segment whose closed ledger is empty: its number stays unused. */
export async function dropSegment({ metadata, ledgers }: SegmentDependencies, dropped: InProgressSegment): Promise<void> {
  const isDropped = ({ ledgerId }: InProgressSegment) => ledgerId === dropped.ledgerId;
  // Marked first: a ledger that is gone is proof of nothing, this mark is.
  await metadata.update((head) => {
    const segment = head.inProgress.find(isDropped);
    return segment === undefined || segment.status === 'truncated' ? undefined : withSegment(head, { ...segment, status: 'truncated' });
  });
  await ledgers.delete(dropped.ledgerId);
  await metadata.update((head) => {
    if (!head.inProgress.some(isDropped)) return undefined;
    return { ...head, inProgress: head.inProgress.filter((segment) => !isDropped(segment)) };
  });
}

/** Brings what an earlier owner left in order: fences and closes the ledgers that were being written, ends their segments. */
export async function recoverSegments(d: SegmentDependencies): Promise<LogHead> {
  const { head } = await d.metadata.readHead();
  for (const segment of [...head.inProgress].sort((a, b) => a.sequence - b.sequence)) {
    const completed = segment.status === 'truncated' ? undefined : await recoverSegment(d, segment);
    if (completed === undefined) await dropSegment(d, segment);
    else await completeSegment(d, completed);
    d.logger.info({ log: d.metadata.name, segment: segment.sequence, records: completed?.recordsCount ?? 0 }, 'segment recovered');
  }
  await removePurged(d);
  return (await d.metadata.readHead()).head;
}

/** Undefined for an empty one. */
async function recoverSegment(
  { metadata, ledgers, options, nowMs }: SegmentDependencies,
  segment: InProgressSegment,
): Promise<CompletedSegment | undefined> {
  const { ledgerId, sequence } = segment;
  const reader = await ledgers.openWithRecovery(ledgerId, { password: options.password }).catch((error) => {
    if (!ledgerErrors.NOT_FOUND.is(error)) throw error;
    throw logErrors.SEGMENT_LOST(metadata.name, sequence, ledgerId, 'its ledger was deleted', { cause: error });
  });
  try {
    const lastEntryId: EntryId = reader.lastAddConfirmed;
    if (lastEntryId === -1) return undefined;
    const [entry] = await reader.read(lastEntryId, lastEntryId);
    const records = decodeRecords(entry?.payload ?? Buffer.alloc(0), `entry ${lastEntryId} of ledger ${ledgerId}`);
    const last = records.at(-1);
    invariant(last !== undefined, 'an entry has a record');
    return {
      ...segment,
      kind: 'completed',
      lastTxId: last.txId,
      completedAtMs: nowMs(),
      lastEntryId,
      lastSlot: records.length - 1,
      recordsCount: last.countInSegment,
    };
  } finally {
    await reader.close();
  }
}

/** Purges completed segments below `sequence`; the last completed one always stays. */
export async function purgeBelow(d: SegmentDependencies, sequence: number): Promise<void> {
  const { segments } = await d.metadata.snapshot();
  const last = segments.filter(({ kind }) => kind === 'completed').at(-1)?.sequence ?? 0;
  const firstSequence = Math.min(sequence, last);
  await d.metadata.update((head) => (head.firstSequence >= firstSequence ? undefined : { ...head, firstSequence }));
  await removePurged(d);
}

/** Takes away what the head says is purged. */
async function removePurged({ metadata, ledgers }: SegmentDependencies): Promise<void> {
  const { head } = await metadata.readHead();
  for (const sequence of await metadata.listCompleted()) {
    if (sequence >= head.firstSequence) continue;
    const segment = await metadata.readCompleted(sequence);
    if (segment === undefined) continue;
    await ledgers.delete(segment.ledgerId);
    await metadata.removeCompleted(sequence);
  }
}
