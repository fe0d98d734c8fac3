import type { LedgerClient } from '@daybook/ledger';
import { type BookieRegistry, type MetadataStore, paths } from '@daybook/metadata';
import type { Clock, Logger, Random, Timer } from '@daybook/runtime';
import { TaskSet } from '@daybook/runtime';
import { AppendBudget } from './append-budget.js';
import type { LogContext } from './context.js';
import { deleteLog } from './delete-log.js';
import { EntryCache } from './entry-cache.js';
import { managedLedgerErrors } from './errors.js';
import { LedgerList } from './ledger-list.js';
import { LedgerReaders } from './ledger-readers.js';
import type { LogKeeper, OpenLog } from './managed-ledger.js';
import type { ManagedLedger, ManagedLedgerOptions, ManagedLedgers } from './managed-ledger-api.js';
import { openLog } from './open-log.js';
import { defaultSettings, type ManagedLedgersSettings } from './settings.js';

export interface ManagedLedgersParts {
  clock: Clock;
  random: Random;
  store: MetadataStore;
  ledgers: LedgerClient;
  registry: BookieRegistry;
  logger: Pick<Logger, 'info' | 'warn'>;
  /** What differs from {@link defaultSettings}. */
  settings?: Partial<ManagedLedgersSettings>;
}

/** The logs of one broker. The parts are the caller's: they are closed after this. */
export function createManagedLedgers(parts: ManagedLedgersParts): ManagedLedgers & ManagedLedgersMetrics {
  return new BrokerLogs(parts);
}

/** For the metrics of a broker. */
export interface ManagedLedgersMetrics {
  readonly openCount: number;
  readonly cachedBytes: number;
  readonly unansweredAppendBytes: number;
  readonly openReadersCount: number;
}

class BrokerLogs implements ManagedLedgers, ManagedLedgersMetrics, LogKeeper {
  readonly #context: LogContext;
  readonly #tasks: TaskSet;
  readonly #logs = new Map<string, Promise<OpenLog>>();
  readonly #serving = new Map<OpenLog, Promise<OpenLog>>();
  #timer: Timer | undefined;
  #isClosed = false;

  constructor({ clock, random, store, ledgers, registry, logger, settings: given }: ManagedLedgersParts) {
    const settings = { ...defaultSettings, ...given };
    this.#tasks = new TaskSet((error, name) => logger.warn({ error }, `${name} failed`));
    const background = (task: Promise<unknown>) => {
      // After the end of this object only the last closings come here.
      if (!this.#tasks.run('background work', async () => void (await task))) task.catch(() => undefined);
    };
    const readers = new LedgerReaders({ ledgers, clock, openMax: settings.openReadersMax, idleMaxMs: settings.readersIdleMaxMs, background });
    const cache = new EntryCache({ clock, bytesMax: settings.tailCacheBytesMax, ageMaxMs: settings.tailCacheAgeMaxMs });
    const budget = new AppendBudget(settings.totalAppendBytesMax);
    const { stop } = this.#tasks;
    this.#context = { clock, random, store, ledgers, registry, logger, settings, readers, cache, budget, background, stop };
  }

  get openCount(): number {
    return this.#serving.size;
  }

  get cachedBytes(): number {
    return this.#context.cache.bytes;
  }

  get unansweredAppendBytes(): number {
    return this.#context.budget.bytes;
  }

  get openReadersCount(): number {
    return this.#context.readers.count;
  }

  async open(name: string, options: ManagedLedgerOptions): Promise<ManagedLedger> {
    for (;;) {
      if (this.#isClosed) throw managedLedgerErrors.CLOSED(name);
      let opening = this.#logs.get(name);
      if (opening === undefined) {
        opening = this.#open(name, options);
        this.#logs.set(name, opening);
      }
      const log = await opening;
      if (log.ending === undefined) return log;
      // It is on its way out: whoever comes now gets a new one afterwards.
      await log.ending.catch(() => undefined);
      if (this.#logs.get(name) === opening) this.#logs.delete(name);
    }
  }

  async delete(name: string): Promise<void> {
    if (this.#logs.has(name)) throw managedLedgerErrors.IN_USE(name);
    await deleteLog(this.#context, name, await LedgerList.read(this.#context, { path: paths.managedLedger(name), name }));
  }

  async exists(name: string): Promise<boolean> {
    const list = await LedgerList.read(this.#context, { path: paths.managedLedger(name), name });
    return list.info.ledgers.length > 0;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer?.cancel();
    const logs = await Promise.allSettled(this.#logs.values());
    await Promise.all(logs.map((log) => (log.status === 'fulfilled' ? log.value.close() : undefined)));
    this.#context.readers.close();
    await this.#tasks.close();
  }

  logEnded(log: OpenLog): void {
    const opening = this.#serving.get(log);
    if (opening === undefined) return;
    this.#serving.delete(log);
    this.#forget(log.name, opening);
  }

  #open(name: string, options: ManagedLedgerOptions): Promise<OpenLog> {
    const opening = openLog(this.#context, { name, options, keeper: this }).then(
      (opened) => {
        if (opened.ending === undefined) this.#serving.set(opened, opening);
        else this.#forget(name, opening);
        this.#arm();
        return opened;
      },
      (error: Error) => {
        this.#forget(name, opening);
        throw error;
      },
    );
    return opening;
  }

  #forget(name: string, opening: Promise<OpenLog>): void {
    if (this.#logs.get(name) === opening) this.#logs.delete(name);
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#isClosed || this.#serving.size === 0) return;
    this.#timer = this.#context.clock.after(this.#context.settings.sweepIntervalMs, () => {
      this.#timer = undefined;
      const nowMs = this.#context.clock.monoMs();
      for (const log of this.#serving.keys()) log.tick(nowMs);
      this.#context.cache.sweep();
      this.#context.readers.sweep();
      this.#arm();
    });
  }
}
