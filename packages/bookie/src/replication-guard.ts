import { type MetadataStore, paths, RepairLocks } from '@daybook/metadata';
import type { Clock } from '@daybook/runtime';
import type { BookieMetadata } from './bookie-api.js';

/**
 * Takes the lock under which a ledger is repaired, so that no copy is made here while one is deleted because it belongs to other bookies. Undefined when
 * somebody has it, the ledger is marked for repair, or the answer to the lock was lost. Rejects when the store cannot be reached.
 */
export function replicationGuard({ store, clock }: { store: MetadataStore; clock: Clock }): NonNullable<BookieMetadata['guardReplication']> {
  let locks: RepairLocks | undefined;
  return async (ledgerId, bookieId) => {
    if ((await store.get(paths.underreplicatedLedger(ledgerId))) !== undefined) return undefined;
    locks ??= new RepairLocks({ store, clock, owner: `garbage collection of ${bookieId}` });
    return locks.tryLock(ledgerId);
  };
}
