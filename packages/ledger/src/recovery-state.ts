import { type BookieCode, type EntryId, isNegative, type LedgerMetadata } from '@daybook/proto';
import { negativesNeeded, type QuorumSizes } from './quorum.js';

/** What one replica said about one entry: `damaged` is an answer whose digest or ids are wrong, `pending` no answer yet. */
export type ReplicaAnswer = BookieCode | 'DAMAGED' | 'PENDING';

/**
 * - `found`: one valid copy is enough, it is going to be written to Qa again;
 * - `absent`: enough explicit negatives that it was never acknowledged and, as they come from fenced bookies, never will be (R5, R7);
 * - `undecided`: wait for more answers;
 * - `unknown`: all have answered and it is neither: recovery fails and is tried later.
 */
export type EntryVerdict = 'found' | 'absent' | 'undecided' | 'unknown';

/** Decides about an entry from the answers of its write set. */
export function judgeEntry(sizes: QuorumSizes, answers: readonly ReplicaAnswer[]): EntryVerdict {
  let negativesCount = 0;
  let isOpen = false;
  for (const answer of answers) {
    if (answer === 'OK') return 'found';
    if (answer === 'PENDING') isOpen = true;
    else if (answer !== 'DAMAGED' && isNegative(answer)) negativesCount++;
  }
  if (negativesCount >= negativesNeeded(sizes)) return 'absent';
  return isOpen ? 'undecided' : 'unknown';
}

/** The closing record: recovery's own ensembles become visible only together with the end (R8). */
export function closedRecord(privateMetadata: LedgerMetadata, end: { lastEntryId: EntryId; length: number }): LedgerMetadata {
  return { ...privateMetadata, state: 'CLOSED', ...end };
}
