import type { LedgerWriter } from '@daybook/ledger';
import type { BookieRegistry } from '@daybook/metadata';
import type { ManagedLedgerOptions } from './managed-ledger-api.js';

export type RollReason = 'entries' | 'bytes' | 'age' | 'full-size' | 'asked' | 'failed';

/** Whether a ledger has had enough. An empty one never has; before the minimum age only what forces it counts. */
export function rollReason(ledger: { entries: number; bytes: number; ageMs: number }, options: ManagedLedgerOptions): RollReason | undefined {
  if (ledger.entries === 0) return undefined;
  if (ledger.ageMs >= options.rolloverTimeMaxMs) return 'age';
  if (ledger.ageMs < options.rolloverTimeMinMs) return undefined;
  if (ledger.entries >= options.entriesPerLedgerMax) return 'entries';
  return ledger.bytes >= options.bytesPerLedgerMax ? 'bytes' : undefined;
}

/** The ledger is on fewer bookies than it should be, and enough of them are up to do better with a new one. */
export function canGrow(writer: LedgerWriter, options: ManagedLedgerOptions, registry: BookieRegistry): boolean {
  if (writer.metadata.ensembleSize >= options.ensembleSize && !writer.isDegraded) return false;
  let writableCount = 0;
  for (const bookie of registry.list()) if (bookie.isWritable) writableCount++;
  return writableCount >= options.ensembleSize;
}
