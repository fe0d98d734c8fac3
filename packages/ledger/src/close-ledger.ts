import { type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import type { EntryId, LedgerId } from '@daybook/proto';
import { ledgerErrors } from './errors.js';

export interface LedgerEnd {
  lastEntryId: EntryId;
  length: number;
}

export interface CloseLedger extends LedgerEnd {
  ledgerId: LedgerId;
  /** What the writer believes is stored. */
  stored: VersionedLedger;
  /** A bookie said so: then only a record that is closed already, at the same end, is a success. */
  isFenced: boolean;
}

/**
 * A writer's close by compare-and-set (reference 1.7). Closed at the same end by somebody else is success. Stricter than BookKeeper: a ledger in
 * recovery is not closed under the recoverer's hands, the writer is fenced.
 */
export async function closeLedger(records: LedgerRecords, close: CloseLedger): Promise<VersionedLedger> {
  const { ledgerId, lastEntryId, length } = close;
  let current = close.isFenced ? await records.read(ledgerId) : close.stored;
  for (;;) {
    if (current === undefined) throw ledgerErrors.NOT_FOUND(ledgerId);
    const { metadata } = current;
    if (metadata.state === 'CLOSED') {
      if (metadata.lastEntryId === lastEntryId && metadata.length === length) return current;
      throw ledgerErrors.FENCED(ledgerId);
    }
    if (metadata.state === 'IN_RECOVERY' || close.isFenced) throw ledgerErrors.FENCED(ledgerId);
    try {
      return await records.write(ledgerId, { ...metadata, state: 'CLOSED', lastEntryId, length }, current.version);
    } catch (error) {
      if (!metadataErrors.BAD_VERSION.is(error)) throw error;
      current = await records.read(ledgerId);
    }
  }
}
