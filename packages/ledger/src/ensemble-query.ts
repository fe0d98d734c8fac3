import { type BookieId, isNegative, type LacReply } from '@daybook/proto';
import type { BookiePool, PooledBookie } from './bookie-pool.js';
import { isCovered, type QuorumSizes } from './quorum.js';

export interface EnsembleReplies {
  /** By index; undefined where nothing was heard (yet). */
  readonly replies: readonly (LacReply | undefined)[];
  /** Enough definite answers that nothing was acknowledged behind their back. */
  readonly isCovered: boolean;
}

/** An answer that settles something: an entry, or the explicit statement that there is none. */
export function isDefinite(reply: LacReply): boolean {
  return reply.code === 'OK' || isNegative(reply.code);
}

/**
 * Asks every member of an ensemble at once. Resolves as soon as every write set is covered, or a member says `UNAUTHORIZED`, or all have answered; later
 * answers are ignored.
 */
export function queryEnsemble(
  { bookies }: { bookies: BookiePool },
  query: {
    sizes: QuorumSizes;
    ensemble: readonly BookieId[];
    ask: (bookie: PooledBookie) => Promise<LacReply>;
    /** This one reply settles it. */
    isEnough?: (reply: LacReply) => boolean;
  },
): Promise<EnsembleReplies> {
  const { sizes, ensemble, ask, isEnough } = query;
  return new Promise((resolve, reject) => {
    const replies: (LacReply | undefined)[] = ensemble.map(() => undefined);
    let openCount = ensemble.length;
    const heard = (index: number, reply: LacReply) => {
      bookies.report(ensemble[index] as BookieId, reply.code);
      replies[index] = reply;
      openCount--;
      const covered = isCovered(
        sizes,
        replies.map((known) => known !== undefined && isDefinite(known)),
      );
      if (covered || openCount === 0 || reply.code === 'UNAUTHORIZED' || isEnough?.(reply) === true)
        resolve({ replies: [...replies], isCovered: covered });
    };
    for (const [index, bookieId] of ensemble.entries()) {
      const bookie = bookies.get(bookieId);
      const reply = bookie === undefined ? Promise.resolve<LacReply>({ code: 'UNAVAILABLE' }) : ask(bookie);
      reply.then((answer) => heard(index, answer)).catch(reject);
    }
  });
}

/** `a: NO_ENTRY, b: UNAVAILABLE`, for error texts. */
export function describeReplies(ensemble: readonly BookieId[], replies: readonly (LacReply | undefined)[]): string {
  return ensemble.map((bookieId, index) => `${bookieId}: ${replies[index]?.code ?? 'no answer'}`).join(', ');
}
