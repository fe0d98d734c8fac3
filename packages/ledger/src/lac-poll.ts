import {
  type AwaitLacReply,
  type Digest,
  decodeEntry,
  type Entry,
  type EntryId,
  isNegative,
  type LedgerId,
  type LedgerMetadata,
} from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import type { BookiePool } from './bookie-pool.js';
import { lastSegment } from './distribution.js';
import { lacFromReply } from './lac.js';

export interface LacPoll {
  ledgerId: LedgerId;
  metadata: LedgerMetadata;
  digest: Digest;
  after: EntryId;
  timeoutMs: number;
  /** Nobody waits any more, or the ensemble may be another one now. */
  stop: AbortSignal;
}

export type LacPollResult =
  /** `entry` is number `after + 1`, if whoever told had it. */
  | { readonly is: 'moved'; readonly lastAddConfirmed: EntryId; readonly entry: Entry | undefined }
  /** So many said "nothing new" that an entry that was confirmed would be known to one of them (E - Qa + 1), or the time is over. */
  | { readonly is: 'nothing new' }
  /** Too few could be asked. */
  | { readonly is: 'no answer' };

/**
 * Lets all bookies of the last ensemble wait for the last-add-confirmed to move (reference 1.9, long poll); the first proof ends it, and the others' waiting. All,
 * because a bookie the writer has given up hears nothing any more, and with E > Qw no single one hears everything. Only the preferred one is asked for
 * the entry too.
 */
export function pollLac({ bookies }: { bookies: BookiePool }, poll: LacPoll): Promise<LacPollResult> {
  const { metadata, after, timeoutMs, ledgerId } = poll;
  const { ensemble } = lastSegment(metadata);
  const preferred = [...ensemble].sort((a, b) => bookies.readRank(a) - bookies.readRank(b))[0];
  const enough = new AbortController();
  const stopped = () => enough.abort();
  poll.stop.addEventListener('abort', stopped, { once: true });
  return new Promise<LacPollResult>((resolve, reject) => {
    let openCount = ensemble.length;
    let emptyCount = 0;
    const heard = (reply: AwaitLacReply) => {
      openCount--;
      const lastAddConfirmed = lacFromReply(reply, poll);
      if (lastAddConfirmed > after) return resolve({ is: 'moved', lastAddConfirmed, entry: entryOf(reply, poll) });
      if (reply.code === 'OK' || isNegative(reply.code)) emptyCount++;
      if (emptyCount > metadata.ensembleSize - metadata.ackQuorumSize) resolve({ is: 'nothing new' });
      else if (openCount === 0) resolve({ is: emptyCount > 0 ? 'nothing new' : 'no answer' });
    };
    for (const bookieId of ensemble) {
      const bookie = bookies.get(bookieId);
      const request = { ledgerId, after, timeoutMs, withEntry: bookieId === preferred };
      const reply = bookie === undefined ? Promise.resolve<AwaitLacReply>({ code: 'UNAVAILABLE' }) : bookie.service.awaitLac(request, enough.signal);
      reply.then(heard).catch(reject);
    }
  }).finally(() => {
    poll.stop.removeEventListener('abort', stopped);
    enough.abort();
  });
}

function entryOf({ entry }: AwaitLacReply, { digest, ledgerId, after }: LacPoll): Entry | undefined {
  if (entry === undefined) return undefined;
  try {
    return decodeEntry(entry, digest, ledgerId, (after + 1) as EntryId);
  } catch (error) {
    if (error instanceof DaybookError) return undefined; // Damaged there: it is read like any other.
    throw error;
  }
}
