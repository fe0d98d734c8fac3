import type { Position } from '@daybook/proto';
import type { ChainLedger } from './ledger-chain.js';

/**
 * How many of the first ledgers nobody needs: closed, and passed by every durable cursor. Without a cursor all but the last go: what nobody subscribed to
 * is kept by retention alone, and that is 0.
 */
export function trimmableCount(ledgers: readonly ChainLedger[], marks: readonly Position[]): number {
  let count = 0;
  while (count < ledgers.length - 1) {
    const { ledgerId, entries } = ledgers[count] as ChainLedger;
    const isPassed = (mark: Position) => mark.ledgerId > ledgerId || entries === 0 || (mark.ledgerId === ledgerId && mark.entryId >= entries - 1);
    if (!marks.every(isPassed)) break;
    count++;
  }
  return count;
}
