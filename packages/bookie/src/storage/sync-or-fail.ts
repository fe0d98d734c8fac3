import { bookieErrors } from '../errors.js';

/**
 * Runs a sync. After a failed one the page cache cannot be trusted, whatever the reason was, a full disk included: the error says that the bookie must
 * stop (rule R16), so that nobody takes it for one to try again after.
 */
export async function syncOrFail(sync: () => Promise<unknown>): Promise<void> {
  try {
    await sync();
  } catch (error) {
    throw bookieErrors.FAILED(`a sync failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
