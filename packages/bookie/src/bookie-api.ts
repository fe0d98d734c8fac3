import type { RegisteredBookie } from '@daybook/metadata';
import type { BookieId, BookieService, LedgerId } from '@daybook/proto';
import type { Clock, Disk, Logger, Metrics, Random } from '@daybook/runtime';
import type { BookieState } from './bookie-service.js';
import type { BookieConfig } from './config.js';
import type { CookieRecords, Identity } from './cookie.js';
import type { JournalStatus } from './journal/journals.js';
import type { BookieLimits } from './limits.js';
import type { ReadOnlyReason } from './read-only-mode.js';
import type { BadEntry } from './storage/bad-entries.js';
import type { LedgerListing, ReplicationGuard } from './storage/deleted-ledgers.js';
import type { DirectoryStatus } from './storage/disk-monitor.js';
import type { GarbageCollector } from './storage/gc.js';
import type { ScrubReport, ScrubStatus } from './storage/scrubber.js';

/** Presence in the cluster, as made by {@link BookieMetadata.register}. */
export interface Registration {
  setWritable(isWritable: boolean): Promise<void>;
  close(): Promise<void>;
}

/** What a bookie needs of the metadata store. */
export interface BookieMetadata {
  /** The cluster's id. */
  instanceId(): Promise<string>;
  cookies: CookieRecords;
  /** Without it no ledger is ever deleted. */
  ledgers?: LedgerListing;
  /** Keeps repair away from a ledger that is about to be deleted here because it belongs to other bookies. */
  guardReplication?: (ledgerId: LedgerId, bookieId: BookieId) => Promise<ReplicationGuard | undefined>;
  register(bookie: RegisteredBookie): Promise<Registration>;
}

export interface BookieOptions {
  config: BookieConfig;
  /** Instead of what the configuration says; for tests. */
  limits?: Partial<BookieLimits>;
  clock: Clock;
  random: Random;
  disk: Disk;
  logger: Logger;
  metrics?: Metrics;
  /** Without one the cookie is only compared between the directories. */
  metadata?: BookieMetadata;
  /** Directories below it may move together: see the cookie. */
  dataDirectory?: string;
  /** An entry cannot be read from this disk any more: it should be fetched from a replica. */
  onBadEntry?(bad: BadEntry): void;
  /** The bookie cannot go on (a failed write or sync); it answers only errors from now on. The process must exit with an error. Called at most once. */
  onFatal(error: unknown): void;
}

/** A storage node that runs. */
export interface Bookie extends AsyncDisposable {
  readonly service: BookieService;
  readonly identity: Identity;
  readonly state: BookieState;
  readonly garbageCollector: GarbageCollector;
  /** Tells the cluster where it is; after the servers listen. */
  register(at: { address: string; httpAddress: string }): Promise<void>;
  /** True while ordinary appends are refused (READ_ONLY); reads, fences and, as long as there is room, appends of a recovery are served. */
  readonly isReadOnly: boolean;
  status(): BookieStatus;
  /** An operator's wish: holds until the opposite is wished, over restarts too, whatever the disks say. */
  setReadOnly(isReadOnly: boolean): Promise<void>;
  /** Of the ledgers that this bookie knows, ascending. */
  ledgerIds(): Float64Array;
  /** Looks at the disks now rather than at the next interval. */
  checkDisks(): Promise<void>;
  /** Checks all entry logs and indexes now, at the bounded rate; resolves when it is through. */
  scrub(): Promise<ScrubReport>;
  /** Writes everything to entry logs now, and publishes a checkpoint. */
  flush(): Promise<void>;
  /** Stops taking requests, answers what is under way, flushes. May be called more than once. */
  close(): Promise<void>;
}

/** What there is to know about a bookie, for people. */
export interface BookieStatus {
  state: BookieState;
  isReadOnly: boolean;
  readOnlyReasons: readonly ReadOnlyReason[];
  /** Whether appends of a recovery are taken. */
  takesRecovery: boolean;
  /** It may have lost entries, and answers UNKNOWN_LEDGER_STATE instead of "not here": of `limboLedgersCount` ledgers, or of all (undefined). */
  isLimbo: boolean;
  limboLedgersCount: number | undefined;
  /** False with `journalSyncData=false`: what it acknowledges may be lost when the power fails. */
  isJournalSynced: boolean;
  directories: readonly DirectoryStatus[];
  journals: readonly JournalStatus[];
  /** Entries that cannot be read any more: at most a thousand; `badEntriesCount` counts all found since the start. */
  badEntries: readonly BadEntry[];
  badEntriesCount: number;
  scrub: ScrubStatus;
}
