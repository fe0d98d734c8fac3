import { type LedgerWriter, ledgerErrors } from '@daybook/ledger';
import { metadataErrors, paths } from '@daybook/metadata';
import type { LedgerId } from '@daybook/proto';
import type { LogContext } from './context.js';
import { deleteCursors } from './delete-log.js';
import { type ChainLedger, LedgerChain } from './ledger-chain.js';
import { chainLedger, withEnd, without } from './ledger-infos.js';
import { LedgerList } from './ledger-list.js';
import { createLedger, deleteLedgers, recoveredEnd } from './ledger-switch.js';
import { type LogKeeper, OpenLog } from './managed-ledger.js';
import type { ManagedLedgerOptions } from './managed-ledger-api.js';

/**
 * Takes a log over. The order makes it safe: first the last ledger's writer is fenced and its end known, then the list is changed by compare-and-set (whoever
 * had the log finds out at the next write), then cursors are recovered (fencing their writers), then the log is served.
 */
export async function openLog(context: LogContext, log: { name: string; options: ManagedLedgerOptions; keeper: LogKeeper }): Promise<OpenLog> {
  const { name, options } = log;
  const list = await LedgerList.read(context, { path: paths.managedLedger(name), name });
  const wasNew = list.isNew;
  // Without ledgers it was being deleted when something stopped it.
  if (!wasNew && list.info.ledgers.length === 0) await deleteCursors(context, name, list);
  const ends = list.info.ledgers.map(chainLedger);
  const last = ends.pop();
  const end = last === undefined ? undefined : await endOf(context, name, last);
  if (end !== undefined && end.entries > 0) ends.push(end);
  const writer = await createLedger(context, options, { name });
  await append(context, { name, list, last, end }, writer);
  const chain = new LedgerChain([...ends, { ledgerId: writer.ledgerId, entries: 0, bytes: 0, closedAtMs: 0 }]);
  const opened = new OpenLog(context, { ...log, chain, list, writer });
  try {
    if (!wasNew) await opened.recoverCursors();
  } catch (error) {
    // Its new ledger is empty and closed now: the next opener drops it.
    await opened.abandon(error as Error);
    throw error;
  }
  if (last !== undefined && end?.entries === 0) context.background(deleteLedgers(context, name, [last.ledgerId]));
  return opened;
}

/** How the last ledger ended; undefined when the metadata says that it is gone. */
async function endOf(context: LogContext, name: string, last: ChainLedger): Promise<ChainLedger | undefined> {
  try {
    const { lastEntryId, length } = await recoveredEnd(context, last.ledgerId);
    return { ledgerId: last.ledgerId, entries: lastEntryId + 1, bytes: length, closedAtMs: context.clock.wallMs() };
  } catch (error) {
    if (!ledgerErrors.NOT_FOUND.is(error)) throw error;
    context.logger.warn({ log: name, ledgerId: last.ledgerId }, 'the last ledger of a log is gone: going on without it');
    return undefined;
  }
}

async function append(
  context: LogContext,
  log: { name: string; list: LedgerList; last: ChainLedger | undefined; end: ChainLedger | undefined },
  writer: LedgerWriter,
): Promise<void> {
  const { name, list, last, end } = log;
  const stop = new AbortController();
  const limit = context.clock.after(context.settings.openWaitMaxMs, () => stop.abort());
  try {
    if (last !== undefined && last.ledgerId >= writer.ledgerId) {
      throw metadataErrors.CORRUPT(
        paths.managedLedger(name),
        `it names ledger ${last.ledgerId}, but new ledgers have lower ids (${writer.ledgerId})`,
      );
    }
    const gone = new Set<LedgerId>(last !== undefined && end === undefined ? [last.ledgerId] : []);
    await list.update((info) => withEnd(without(info, gone), end, writer.ledgerId), stop.signal);
  } catch (error) {
    const closed = writer.close().catch(() => undefined);
    context.background(closed.then(() => deleteLedgers(context, name, [writer.ledgerId])));
    throw error;
  } finally {
    limit.cancel();
  }
}
