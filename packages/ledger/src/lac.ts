import { type Digest, decodeEntry, type EntryId, type LacReply, type LedgerId, type LedgerMetadata } from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import type { BookiePool } from './bookie-pool.js';
import { lastSegment } from './distribution.js';
import { describeReplies, queryEnsemble } from './ensemble-query.js';
import { ledgerErrors } from './errors.js';

export interface KnownEnd {
  /** Everything up to here was confirmed. */
  readonly lastConfirmed: EntryId;
  /** Payload bytes up to and including lastConfirmed, when a reply happened to tell. */
  readonly length: number | undefined;
}

/**
 * The highest last-add-confirmed in the newest entries that bookies hold. A reply whose entry fails its digest proves nothing. Entries before
 * the last segment were confirmed when that segment was stored (P4), hence the lower bound.
 */
export function endFromReplies(
  replies: readonly (LacReply | undefined)[],
  ledger: { ledgerId: LedgerId; digest: Digest; lastSegmentFirst: EntryId },
): KnownEnd {
  const headers = replies.flatMap((reply) =>
    reply?.code === 'OK' && reply.lastEntry !== undefined ? (verified(reply.lastEntry, ledger) ?? []) : [],
  );
  const lastConfirmed = headers.reduce((max, header) => Math.max(max, header.lastAddConfirmed), ledger.lastSegmentFirst - 1) as EntryId;
  return { lastConfirmed, length: headers.find((header) => header.entryId === lastConfirmed)?.length };
}

function verified(bytes: Buffer, { digest, ledgerId }: { digest: Digest; ledgerId: LedgerId }) {
  try {
    return [decodeEntry(bytes, digest, ledgerId)];
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
