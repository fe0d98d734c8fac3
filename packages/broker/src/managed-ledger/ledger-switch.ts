import { type LedgerWriter, ledgerErrors } from '@daybook/ledger';
import type { EntryId, LedgerId } from '@daybook/proto';
import { errorCode } from '@daybook/runtime';
import { retryDelay } from './backoff.js';
import type { LogContext } from './context.js';
import { managedLedgerErrors } from './errors.js';
import type { LedgerList } from './ledger-list.js';
import type { ManagedLedgerOptions } from './managed-ledger-api.js';

export interface LedgerEnd {
  lastEntryId: EntryId;
  length: number;
}

export const noPassword = new Uint8Array(0);
const utf8 = new TextEncoder();
const application = utf8.encode('pulsar');
const component = utf8.encode('managed-ledger');

/** A ledger for a log, or with `cursor` for a cursor of it. Pulsar's tools tell them apart by these names. */
export function createLedger(
  context: Pick<LogContext, 'ledgers'>,
  options: Pick<ManagedLedgerOptions, 'ensembleSize' | 'writeQuorumSize' | 'ackQuorumSize'>,
  owner: { name: string; cursor?: string },
): Promise<LedgerWriter> {
  const customMetadata = new Map<string, Uint8Array>([
    ['application', application],
    ['component', component],
    ['pulsar/managed-ledger', utf8.encode(owner.name)],
  ]);
  if (owner.cursor !== undefined) customMetadata.set('pulsar/cursor', utf8.encode(owner.cursor));
  const { ensembleSize, writeQuorumSize, ackQuorumSize } = options;
  return context.ledgers.create({
    ensembleSize,
    writeQuorumSize,
    ackQuorumSize,
    digestType: 'CRC32C',
    password: noPassword,
    customMetadata,
    shrinkToAvailable: true,
  });
}

/** Sleeps, but not longer than until another set of bookies is up. */
export async function sleepOrBookieChange(context: Pick<LogContext, 'clock' | 'registry'>, delayMs: number, stop: AbortSignal): Promise<void> {
  const wake = new AbortController();
  const onStop = () => wake.abort();
  const watch = context.registry.onChange(onStop);
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) wake.abort();
  await context.clock.sleep(delayMs, wake.signal);
  stop.removeEventListener('abort', onStop);
  watch.stop();
}

/**
 * Ends a ledger of ours for good and says where. Goes on trying until `stop`. When its writer was fenced, somebody may be taking the log over: the list
 * decides (`MANAGED_LEDGER_FENCED`); if it is still ours, recovery tells the end, which can lie beyond what the writer knew.
 */
export async function finishLedger(
  context: LogContext,
  ledger: { writer: LedgerWriter; list: LedgerList; name: string },
  stop: AbortSignal,
): Promise<LedgerEnd> {
  const delay = retryDelay(context);
  const { writer, list, name } = ledger;
  for (;;) {
    if (stop.aborted) throw managedLedgerErrors.CLOSED(name);
    try {
      return await writer.close();
    } catch (error) {
      context.logger.info({ log: name, ledgerId: writer.ledgerId, code: errorCode(error) }, 'a ledger could not be closed by its writer');
    }
    try {
      if (!(await list.isOwned())) throw managedLedgerErrors.FENCED(name);
      return await recoveredEnd(context, writer.ledgerId);
    } catch (error) {
      if (managedLedgerErrors.FENCED.is(error)) throw error;
      if (ledgerErrors.NOT_FOUND.is(error)) throw managedLedgerErrors.FENCED(name, { cause: error });
      context.logger.warn({ log: name, ledgerId: writer.ledgerId, error }, 'the end of a ledger cannot be found yet');
      await sleepOrBookieChange(context, delay.nextDelayMs(), stop);
    }
  }
}

/** Fences the ledger's writer and finds its end. */
export async function recoveredEnd(context: Pick<LogContext, 'ledgers'>, ledgerId: LedgerId): Promise<LedgerEnd> {
  const reader = await context.ledgers.openWithRecovery(ledgerId, { password: noPassword });
  const end = { lastEntryId: reader.lastAddConfirmed, length: reader.length };
  await reader.close();
  return end;
}

/** Deletes ledgers that no record names any more. What fails is tried a few times and then left: it wastes space, nothing else. */
export async function deleteLedgers(context: LogContext, name: string, ids: readonly LedgerId[]): Promise<void> {
  const delay = retryDelay(context);
  const attemptsMax = 5;
  for (const ledgerId of ids) {
    for (let attempt = 1; ; attempt++) {
      try {
        await context.ledgers.delete(ledgerId);
        break;
      } catch (error) {
        if (attempt === attemptsMax) {
          context.logger.warn({ log: name, ledgerId, error }, 'a ledger that nobody needs could not be deleted: its space is wasted');
          break;
        }
        await context.clock.sleep(delay.nextDelayMs(), context.stop);
      }
    }
  }
}
