import { diskErrors } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';

/**
 * Runs a sync. After a failed one the page cache cannot be trusted: the error says that the bookie must stop (rule R16), so that nobody takes it for one
 * to try again after. For a full disk (`DISK_FULL`, on disks that allot space late) it is enough that this very file is never synced again: what was in it
 * is written anew, elsewhere.
 */
export async function syncOrFail(sync: () => Promise<unknown>): Promise<void> {
  try {
    await sync();
  } catch (error) {
    if (diskErrors.FULL.is(error)) throw error;
    throw bookieErrors.FAILED(`a sync failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
