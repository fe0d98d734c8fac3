import type { Cursor } from '@daybook/broker';
import type { CookieRecords, LedgerRecords, MetadataStore } from '@daybook/metadata';
import type { BookieService } from '@daybook/proto';
import type { Disk } from '@daybook/runtime';

export type LedgerListing = Pick<LedgerRecords, 'list' | 'read'>;

/** A deliberate defect, put around a part of the core: the checkers must find it. */
export interface Mutation {
  readonly name: string;
  /** The world that shows it; default `ledger`. */
  readonly world?: 'ledger' | 'cluster';
  /** Around the bookie itself. */
  bookie?(service: BookieService): BookieService;
  /** Around the way to a bookie, at the client's side. */
  connection?(service: BookieService, node: string): BookieService;
  disk?(disk: Disk): Disk;
  /** What a bookie's garbage collection asks. */
  listing?(listing: LedgerListing): LedgerListing;
  store?(store: MetadataStore): MetadataStore;
  /** At the start of a bookie whose disks were lost. */
  cookies?(cookies: CookieRecords): CookieRecords;
  records?(records: LedgerRecords): LedgerRecords;
  /** Instead of a cursor's own methods. */
  cursor?(cursor: Cursor): Pick<Cursor, 'flush'>;
}
