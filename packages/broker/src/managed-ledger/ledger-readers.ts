import type { LedgerClient, LedgerReader } from '@daybook/ledger';
import type { LedgerId } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';

interface Opened {
  readonly reader: Promise<LedgerReader>;
  usersCount: number;
  lastUsedMs: number;
  /** Out of the map: closed by its last user. */
  isDropped: boolean;
}

const noPassword = new Uint8Array(0);

/** Readers of ledgers, kept open over all logs of a broker, the least recently used ones closed first. */
export class LedgerReaders {
  readonly #ledgers: LedgerClient;
  readonly #clock: Clock;
  readonly #openMax: number;
  readonly #idleMaxMs: number;
  readonly #background: (task: Promise<unknown>) => void;
  #opened = new Map<LedgerId, Opened>();

  constructor(options: { ledgers: LedgerClient; clock: Clock; openMax: number; idleMaxMs: number; background: (task: Promise<unknown>) => void }) {
    this.#ledgers = options.ledgers;
    this.#clock = options.clock;
    this.#openMax = options.openMax;
    this.#idleMaxMs = options.idleMaxMs;
    this.#background = options.background;
  }

  get count(): number {
    return this.#opened.size;
  }

  /** Lends a reader. One that failed is dropped, and the task gets one more chance with a new one: where the entries lie may have changed. */
  async use<T>(ledgerId: LedgerId, task: (reader: LedgerReader) => Promise<T>): Promise<T> {
    const wasOpen = this.#opened.has(ledgerId);
    try {
      return await this.#useOnce(ledgerId, task);
    } catch (error) {
      if (!wasOpen) throw error;
      return this.#useOnce(ledgerId, task);
    }
  }

  /** Called when a ledger is deleted or its log closed here. */
  drop(ledgerId: LedgerId): void {
    const opened = this.#opened.get(ledgerId);
    if (opened !== undefined) this.#drop(ledgerId, opened);
  }

  /** Closes what nobody has used for a while. */
  sweep(): void {
    const limitMs = this.#clock.monoMs() - this.#idleMaxMs;
    for (const [ledgerId, opened] of this.#opened) {
      if (opened.usersCount === 0 && opened.lastUsedMs < limitMs) this.#drop(ledgerId, opened);
    }
  }

  close(): void {
    for (const [ledgerId, opened] of this.#opened) this.#drop(ledgerId, opened);
  }

  async #useOnce<T>(ledgerId: LedgerId, task: (reader: LedgerReader) => Promise<T>): Promise<T> {
    let opened = this.#opened.get(ledgerId);
    if (opened === undefined) {
      this.#makeRoom();
      opened = {
        reader: this.#ledgers.openWithoutRecovery(ledgerId, { password: noPassword }),
        usersCount: 0,
        lastUsedMs: 0,
        isDropped: false,
      };
    }
    // Behind all others: the map's order is the order of use.
    this.#opened.delete(ledgerId);
    this.#opened.set(ledgerId, opened);
    opened.usersCount++;
    try {
      return await task(await opened.reader);
    } catch (error) {
      if (!opened.isDropped) this.#drop(ledgerId, opened);
      throw error;
    } finally {
      opened.usersCount--;
      opened.lastUsedMs = this.#clock.monoMs();
      if (opened.isDropped && opened.usersCount === 0) this.#close(opened);
    }
  }

  #makeRoom(): void {
    if (this.#opened.size < this.#openMax) return;
    for (const [ledgerId, opened] of this.#opened) {
      if (opened.usersCount > 0) continue;
      this.#drop(ledgerId, opened);
      return;
    }
  }

  #drop(ledgerId: LedgerId, opened: Opened): void {
    if (this.#opened.get(ledgerId) === opened) this.#opened.delete(ledgerId);
    opened.isDropped = true;
    if (opened.usersCount === 0) this.#close(opened);
  }

  #close(opened: Opened): void {
    this.#background(
      opened.reader.then(
        (reader) => reader.close().catch(() => undefined),
        () => undefined,
      ),
    );
  }
}
