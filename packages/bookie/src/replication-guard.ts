import { deleteOwnKey, type MetadataStore, metadataErrors, paths } from '@daybook/metadata';
import type { LedgerId } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { ReplicationGuard } from './storage/deleted-ledgers.js';

export interface ReplicationGuardOptions {
  store: MetadataStore;
  clock: Clock;
  owner: string;
}

/** Longer than that a session does not outlive its connection by default, and the key ends with the session. */
const releaseAttemptsMax = 10;
const releaseRetryMs = 1000;

/**
 * Takes the lock under which a ledger is repaired, as repair itself does (an ephemeral key at BookKeeper's place), so that no copy is made here while one is
 * deleted because it belongs to other bookies. Undefined when somebody has it, or the ledger is marked for repair. Rejects when the store cannot be reached.
 */
export async function guardReplication(ledgerId: LedgerId, { store, clock, owner }: ReplicationGuardOptions): Promise<ReplicationGuard | undefined> {
  if ((await store.get(paths.underreplicatedLedger(ledgerId))) !== undefined) return undefined;
  const path = paths.replicationLock(ledgerId);
  const value = Buffer.from(`bookieId: "garbage collection of ${owner}"\n`);
  try {
    await store.put(path, value, 'absent', { ephemeral: true });
  } catch (error) {
    if (!metadataErrors.EXISTS.is(error)) throw error;
    // One of an earlier round, whose release got lost, is ours still.
    const found = await store.get(path);
    if (!found?.ownEphemeral || !found.value.equals(value)) return undefined;
  }
  return { release: () => release({ store, clock, path, value }) };
}

async function release({ store, clock, path, value }: { store: MetadataStore; clock: Clock; path: string; value: Buffer }): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await deleteOwnKey(store, path, value);
    } catch (error) {
      if (!metadataErrors.UNAVAILABLE.is(error) || attempt >= releaseAttemptsMax) throw error;
      await clock.sleep(releaseRetryMs);
    }
  }
}
