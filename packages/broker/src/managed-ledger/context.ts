import type { LedgerClient } from '@daybook/ledger';
import type { BookieRegistry, MetadataStore } from '@daybook/metadata';
import type { Clock, Logger, Random } from '@daybook/runtime';
import type { AppendBudget } from './append-budget.js';
import type { EntryCache } from './entry-cache.js';
import type { LedgerReaders } from './ledger-readers.js';
import type { ManagedLedgersSettings } from './settings.js';

/** What all logs of a broker share. */
export interface LogContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: MetadataStore;
  readonly ledgers: LedgerClient;
  readonly registry: BookieRegistry;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly settings: Readonly<ManagedLedgersSettings>;
  readonly cache: EntryCache;
  readonly readers: LedgerReaders;
  readonly budget: AppendBudget;
  /** Work that nobody waits for, like deleting ledgers: it is joined on close. It never rejects. */
  background(task: Promise<unknown>): void;
  /** Aborts when the broker's logs are closed. */
  readonly stop: AbortSignal;
}
