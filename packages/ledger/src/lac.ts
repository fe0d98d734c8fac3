import {
  type Digest,
  decodeEntry,
  decodeExplicitLac,
  type Entry,
  type EntryId,
  type LacReply,
  type LedgerId,
  type LedgerMetadata,
} from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import type { BookiePool } from './bookie-pool.js';
import { lastSegment } from './distribution.js';
import { describeReplies, isDefinite, queryEnsemble } from './ensemble-query.js';
import { ledgerErrors } from './errors.js';

export interface KnownEnd {
  /** Everything up to here was confirmed. */
  readonly lastConfirmed: EntryId;
  /** Payload bytes up to and including lastConfirmed, when a reply happened to tell. */
  readonly length: number | undefined;
  /** No entry above this one was shown or told of, by those who replied. */
  readonly newest: EntryId;
}

/**
 * The highest last-add-confirmed in the newest entries that bookies hold, or that they were left explicitly. A reply whose entry fails its digest proves nothing. Entries before
 * the last segment were confirmed when that segment was stored (P4), hence the lower bound.
 */
export function endFromReplies(
  replies: readonly (LacReply | undefined)[],
  ledger: { ledgerId: LedgerId; digest: Digest; lastSegmentFirst: EntryId },
): KnownEnd {
  let lastConfirmed = (ledger.lastSegmentFirst - 1) as EntryId;
  const headers: Entry[] = [];
  for (const reply of replies) {
    if (reply === undefined) continue;
    const header = reply.lastEntry && verified(() => decodeEntry(reply.lastEntry as Buffer, ledger.digest, ledger.ledgerId));
    if (header !== undefined) headers.push(header);
    lastConfirmed = Math.max(lastConfirmed, lacFromReply(reply, ledger)) as EntryId;
  }
  const newest = headers.reduce((highest, { entryId }) => Math.max(highest, entryId), lastConfirmed as number) as EntryId;
  return { lastConfirmed, length: headers.find((header) => header.entryId === lastConfirmed)?.length, newest };
}

/** What one reply proves, -1 for nothing. */
export function lacFromReply({ lastEntry, explicitLac }: LacReply, { digest, ledgerId }: { digest: Digest; ledgerId: LedgerId }): EntryId {
  const inEntry = lastEntry && verified(() => decodeEntry(lastEntry, digest, ledgerId).lastAddConfirmed);
  const explicit = explicitLac && verified(() => decodeExplicitLac(explicitLac, digest, ledgerId));
  return Math.max(inEntry ?? -1, explicit ?? -1) as EntryId;
}

/** Undefined for bytes that fail their digest or belong elsewhere. */
function verified<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof DaybookError) return undefined;
    throw error;
  }
}

/** What a reader can learn of an open ledger without changing it. Rejects with `LEDGER_LAC_UNKNOWN` when too few bookies answer. */
export async function readLastAddConfirmed(
  { bookies }: { bookies: BookiePool },
  ledger: { ledgerId: LedgerId; metadata: LedgerMetadata; digest: Digest },
): Promise<EntryId> {
  const { ledgerId, metadata, digest } = ledger;
  const { ensemble, firstEntryId } = lastSegment(metadata);
  const answer = await queryEnsemble({ bookies }, { sizes: metadata, ensemble, ask: (bookie) => bookie.service.readLac(ledgerId) });
  if (!answer.isCovered) throw ledgerErrors.LAC_UNKNOWN(ledgerId, describeReplies(ensemble, answer.replies));
  return endFromReplies(answer.replies, { ledgerId, digest, lastSegmentFirst: firstEntryId }).lastConfirmed;
}

/** As {@link readLastAddConfirmed}, but the first answer that tells of more than `known` is enough, and a single one at all keeps it from failing. */
export async function tryReadLastAddConfirmed(
  { bookies }: { bookies: BookiePool },
  ledger: { ledgerId: LedgerId; metadata: LedgerMetadata; digest: Digest; known: EntryId },
): Promise<EntryId> {
  const { ledgerId, metadata, digest, known } = ledger;
  const { ensemble, firstEntryId } = lastSegment(metadata);
  const { replies } = await queryEnsemble(
    { bookies },
    {
      sizes: metadata,
      ensemble,
      ask: (bookie) => bookie.service.readLac(ledgerId),
      isEnough: (reply) => lacFromReply(reply, { digest, ledgerId }) > known,
    },
  );
  if (!replies.some((reply) => reply !== undefined && isDefinite(reply)))
    throw ledgerErrors.LAC_UNKNOWN(ledgerId, describeReplies(ensemble, replies));
  return endFromReplies(replies, { ledgerId, digest, lastSegmentFirst: firstEntryId }).lastConfirmed;
}
