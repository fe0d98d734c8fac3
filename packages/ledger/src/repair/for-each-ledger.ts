import { type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import type { BookieId, LedgerId } from '@daybook/proto';
import { errorCode, type Logger } from '@daybook/runtime';
import { repairErrors } from './errors.js';

export interface EachLedgerOptions {
  records: LedgerRecords;
  logger: Logger;
  /** Read and worked on at a time. */
  concurrentMax?: number;
  stop?: AbortSignal | undefined;
  /** In place of all ledgers. */
  ledgerIds?: Iterable<LedgerId> | undefined;
}

/**
 * Calls `visit` for every ledger there is, several at a time. Resolves only when all were visited: the first failure of a listing, a reading or a visit ends it
 * with that error, after what was begun has ended. A single record that cannot be decoded is told and left out.
 */
export async function forEachLedger(
  options: EachLedgerOptions,
  visit: (ledgerId: LedgerId, stored: VersionedLedger) => Promise<void> | void,
): Promise<void> {
  const { records, concurrentMax = 32, stop } = options;
  const running = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;
  const begin = (ledgerId: LedgerId) => {
    const task: Promise<void> = visitOne(options, ledgerId, visit)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => running.delete(task));
    running.add(task);
  };
  try {
    for await (const ledgerId of options.ledgerIds ?? records.list()) {
      if (stop?.aborted === true) throw repairErrors.STOPPED();
      if (failure !== undefined) break;
      begin(ledgerId);
      if (running.size >= concurrentMax) await Promise.race(running);
    }
  } finally {
    await Promise.all(running);
  }
  if (failure !== undefined) throw failure.error;
}

async function visitOne(
  { records, logger }: EachLedgerOptions,
  ledgerId: LedgerId,
  visit: (ledgerId: LedgerId, stored: VersionedLedger) => Promise<void> | void,
): Promise<void> {
  let stored: VersionedLedger | undefined;
  try {
    stored = await records.read(ledgerId);
  } catch (error) {
    if (!metadataErrors.CORRUPT.is(error)) throw error;
    logger.error({ ledgerId, error, code: errorCode(error) }, 'the record of a ledger cannot be read: it is left out of the check');
  }
  if (stored !== undefined) await visit(ledgerId, stored);
}

/** The bookies that a ledger's record names, each once. */
export function bookiesOf({ metadata }: VersionedLedger): Set<BookieId> {
  return new Set(metadata.segments.flatMap(({ ensemble }) => ensemble));
}
