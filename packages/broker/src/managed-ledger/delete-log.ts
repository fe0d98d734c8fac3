import type { LogContext } from './context.js';
import { CursorRecord, cursorsOf } from './cursor-info.js';
import type { LedgerList } from './ledger-list.js';
import { deleteLedgers } from './ledger-switch.js';

/**
 * Deletes a log. First its list becomes empty (which takes it from whoever has it open, and makes it a log without data should this be interrupted), then
 * ledgers and cursors go, the record last. Rejects when the metadata cannot be reached; to be tried again then.
 */
export async function deleteLog(context: LogContext, name: string, list: LedgerList): Promise<void> {
  if (list.isNew) return;
  const gone = list.info.ledgers.map((ledger) => ledger.ledgerId);
  if (gone.length > 0) await list.update((info) => ({ ...info, ledgers: [] }), context.stop);
  await deleteLedgers(context, name, gone);
  await deleteCursors(context, name, list);
  await list.remove();
}

/** Records and ledgers of all cursors. */
export async function deleteCursors(context: LogContext, name: string, list: LedgerList): Promise<void> {
  for (const { path } of await cursorsOf(context, name)) {
    const record = await CursorRecord.read(context, { list, path, log: name });
    await record?.remove();
    const ledgerId = record?.info.cursorLedgerId;
    if (ledgerId !== undefined) await deleteLedgers(context, name, [ledgerId]);
  }
}
