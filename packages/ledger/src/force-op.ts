import type { BookieCode, EntryId, LedgerId } from '@daybook/proto';
import type { PendingBatch } from './batch-queue.js';
import { storesEntry } from './distribution.js';
import { ledgerErrors } from './errors.js';
import type { MemberConnections } from './member-connections.js';
import type { WriterState } from './writer-state.js';

/** The newest entry up to `upTo` that the member at `index` stores, or -1. */
function lastStored<B extends PendingBatch>({ sizes }: WriterState<B>, index: number, upTo: number): number {
  for (let entry = upTo; entry >= 0 && entry > upTo - sizes.ensembleSize; entry--) if (storesEntry(sizes, index, entry)) return entry;
  return -1;
}

/** Whether every member has answered all it stores of the entries up to `upTo`: before that, a force could overtake them. */
export function haveAllAnswered<B extends PendingBatch>(state: WriterState<B>, upTo: number): boolean {
  return state.ackedUpTo.every((mark, index) => mark >= lastStored(state, index, upTo));
}

/** Asks every member for the proof that its entries up to `upTo` are durable (reference 1.10). Rejects with `LEDGER_FORCE_FAILED` unless all give it. */
export async function forceMembers<B extends PendingBatch>(
  connections: MemberConnections,
  ledger: { ledgerId: LedgerId; state: WriterState<B>; upTo: number },
): Promise<void> {
  const { ledgerId, state, upTo } = ledger;
  const ask = async (index: number): Promise<BookieCode> => {
    const lastEntryId = lastStored(state, index, upTo);
    if (lastEntryId < 0) return 'OK';
    const connection = connections.at(index);
    if (connection === undefined) return 'UNAVAILABLE';
    return (await connection.service.force({ ledgerId, lastEntryId: lastEntryId as EntryId })).code;
  };
  const codes = await Promise.all(state.members.map((_, index) => ask(index)));
  const refused = codes.flatMap((code, index) => (code === 'OK' ? [] : [`${state.members[index]?.identity.bookieId}: ${code}`]));
  if (refused.length > 0) throw ledgerErrors.FORCE_FAILED(ledgerId, refused.join(', '));
}
