import type { LedgerId, LedgerMetadata } from '@daybook/proto';

export interface VersionedLedger {
  metadata: LedgerMetadata;
  version: number;
}

/** Ledger metadata at BookKeeper's paths. Every change is a compare-and-set on the version read. Errors as MetadataStore; `METADATA_CORRUPT` for an unreadable record. */
export interface LedgerRecords {
  /** A number never handed out before. */
  nextLedgerId(): Promise<LedgerId>;
  /** Rejects with `METADATA_EXISTS`; after a lost reply it recognises its own record by the creation token. */
  create(ledgerId: LedgerId, metadata: LedgerMetadata): Promise<VersionedLedger>;
  /** Undefined only when the store says that there is no such ledger. */
  read(ledgerId: LedgerId): Promise<VersionedLedger | undefined>;
  /** Rejects with `METADATA_BAD_VERSION` when it changed or is gone. An unknown outcome (`METADATA_UNAVAILABLE`) was re-read and settled where possible. */
  write(ledgerId: LedgerId, metadata: LedgerMetadata, version: number): Promise<VersionedLedger>;
  /** Removes the record whatever its version; a missing one is fine. */
  delete(ledgerId: LedgerId): Promise<void>;
  /** All ledger ids, ascending. Complete, or it throws. */
  list(): AsyncIterable<LedgerId>;
  watch(ledgerId: LedgerId, listener: () => void): { stop(): void };
}
