import type { MetadataStore } from '@daybook/metadata';
import type { LedgerRecords } from '@daybook/metadata';
import type { BookieService } from '@daybook/proto';
import type { Disk } from '@daybook/runtime';
import type { ManagedLedgers } from '@daybook/broker';

/** A deliberate defect, put around a part of the core: the checkers must find it. */
export interface Mutation {
  readonly name: string;
  /** Around the bookie itself. */
  bookie?(service: BookieService): BookieService;
  /** Around the way to a bookie, at the client's side. */
  connection?(service: BookieService): BookieService;
  disk?(disk: Disk): Disk;
  store?(store: MetadataStore): MetadataStore;
  records?(records: LedgerRecords): LedgerRecords;
  logs?(logs: ManagedLedgers): ManagedLedgers;
}
