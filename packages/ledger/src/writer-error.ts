import type { BookieId, LedgerId } from '@daybook/proto';
import type { PendingBatch } from './batch-queue.js';
import { ledgerErrors } from './errors.js';
import type { Placement } from './placement.js';
import { failedIndexes, type WriterFailure, type WriterState } from './writer-state.js';

/** What a failed writer tells its owner: why, and what to do. */
export function writerError<B extends PendingBatch>(
  failure: WriterFailure,
  writer: { ledgerId: LedgerId; state: WriterState<B>; placement: Placement },
): Error {
  const { ledgerId: id, state, placement } = writer;
  switch (failure.reason) {
    case 'fenced':
      return ledgerErrors.FENCED(id);
    case 'unauthorized':
      return ledgerErrors.UNAUTHORIZED(id);
    case 'bad-request':
      return ledgerErrors.APPEND_FAILED(id, `bookie ${failure.bookieId} calls the request malformed (do both run the same version?)`);
    case 'stranded':
      return ledgerErrors.APPEND_FAILED(
        id,
        `bookie ${failure.bookieId} failed (${failure.code}), and entries that were never forced cannot go to another one (DEFERRED_SYNC)`,
      );
    case 'timeout':
      if (failure.quorumLost) return notEnoughBookies(state, placement);
      return ledgerErrors.APPEND_FAILED(id, `an entry was not acknowledged for ${state.limits.quorumTimeoutMs} ms`);
    case 'stopped':
      return failure.error;
  }
}

/** Names the members that failed, with what they answered, and then everybody else who could have taken their place. */
function notEnoughBookies<B extends PendingBatch>(state: WriterState<B>, placement: Placement): Error {
  const bookieAt = (index: number) => state.members[index]?.identity.bookieId as BookieId;
  const failed = failedIndexes(state).map((index) => `${bookieAt(index)} (${state.members[index]?.failedWith})`);
  const others = placement.describeMissing({ except: failedIndexes(state).map(bookieAt) });
  return ledgerErrors.NOT_ENOUGH_BOOKIES(
    state.sizes.ackQuorumSize,
    placement.describeWritable(),
    [...failed, others].filter((text) => text !== '').join(', '),
  );
}
