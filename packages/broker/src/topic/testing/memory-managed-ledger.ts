import { comparePositions, type EntryId, entryId, type LedgerId, ledgerId, noEntry, type Position } from '@daybook/proto';
import { type Clock, invariant } from '@daybook/runtime';
import type {
  Cursor,
  ManagedAppendListener,
  ManagedLedger,
  ManagedLedgerStats,
  ManagedLedgers,
  StoredEntry,
} from '../../managed-ledger/managed-ledger-api.js';
import { PositionMap } from '../../subscription/position-map.js';
import { type CursorState, MemoryCursor } from './memory-cursor.js';

/** What the "bookies" keep of one log, whoever has it open. */
interface StoredLog {
  entries: StoredEntry[];
  ledgerIds: LedgerId[];
  cursors: Map<string, CursorState>;
  /** The latest to open it; all others are fenced. */
  holder: MemoryManagedLedger | undefined;
}

/** Logs in memory, shared by several openers as bookies and metadata are: for tests of what stands on managed ledgers. */
export class MemoryLogs {
  readonly logs = new Map<string, StoredLog>();
  #lastLedgerId = 0;
  nextLedgerId(): LedgerId {
    this.#lastLedgerId++;
    return ledgerId(this.#lastLedgerId);
  }
}

/** One broker's view of {@link MemoryLogs}. Every asynchronous step takes a turn of the clock. */
export class MemoryManagedLedgers implements ManagedLedgers {
  /** Makes opens fail or wait. */
  beforeOpen: (name: string) => Promise<void> = async () => {};
  readonly #shared: MemoryLogs;
  readonly #clock: Clock;
  openCount = 0;

  constructor(shared: MemoryLogs, clock: Clock) {
    this.#shared = shared;
    this.#clock = clock;
  }

  async open(name: string): Promise<MemoryManagedLedger> {
    this.openCount++;
    await this.beforeOpen(name);
    await this.#clock.sleep(1);
    let log = this.#shared.logs.get(name);
    if (log === undefined) {
      log = { entries: [], ledgerIds: [], cursors: new Map(), holder: undefined };
      this.#shared.logs.set(name, log);
    }
    const previous = log.holder;
    log.ledgerIds.push(this.#shared.nextLedgerId());
    const opened = new MemoryManagedLedger(name, log, this.#clock, this.#shared);
    log.holder = opened;
    previous?.fence();
    return opened;
  }

  async delete(name: string): Promise<void> {
    await this.#clock.sleep(1);
    this.#shared.logs.delete(name);
  }

  async exists(name: string): Promise<boolean> {
    return this.#shared.logs.has(name);
  }

  async close(): Promise<void> {}
}

export class MemoryManagedLedger implements ManagedLedger {
  readonly name: string;
  /** Set by tests: reads reject, appends fail, the log takes no more. */
  readError: Error | undefined;
  appendError: Error | undefined;
  isFull = false;
  /** What every `read` was asked for. */
  readonly reads: { after: Position; entriesMax: number }[] = [];
  readonly cursors = new Map<string, Cursor>();
  readonly properties = new Map<string, string>();
  readonly #log: StoredLog;
  readonly #clock: Clock;
  readonly #shared: MemoryLogs;
  #listener: ManagedAppendListener | undefined;
  #pending: Uint8Array[] = [];
  #waiting: { after: Position; task: () => void }[] = [];
  #isClosed = false;
  #drains: (() => void)[] = [];
  #entryId = -1;

  constructor(name: string, log: StoredLog, clock: Clock, shared: MemoryLogs) {
    this.name = name;
    this.#log = log;
    this.#clock = clock;
    this.#shared = shared;
    for (const [cursorName, state] of log.cursors) this.cursors.set(cursorName, new MemoryCursor(cursorName, true, this, state));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get lastConfirmed(): Position {
    return this.#log.entries.at(-1)?.position ?? this.beforeFirst;
  }

  get beforeFirst(): Position {
    return { ledgerId: this.#log.ledgerIds[0]!, entryId: noEntry };
  }

  get entriesCount(): number {
    return this.#log.entries.length;
  }

  get totalBytes(): number {
    return this.#log.entries.reduce((sum, entry) => sum + entry.payload.length, 0);
  }

  async setProperties(change: (properties: Map<string, string>) => void): Promise<void> {
    change(this.properties);
  }

  has(position: Position): boolean {
    return this.#at(position) !== undefined;
  }

  listen(listener: ManagedAppendListener): void {
    invariant(this.#listener === undefined, 'listen is called once');
    this.#listener = listener;
  }

  onDrain(task: () => void): void {
    this.#drains.push(task);
  }

  drain(): void {
    this.isFull = false;
    for (const task of this.#drains.splice(0)) task();
  }

  append(payload: Uint8Array): void {
    invariant(!this.#isClosed, 'append on a closed log');
    this.#pending.push(Buffer.from(payload));
    if (this.#pending.length === 1) this.#clock.endOfTurn(() => this.#confirm());
  }

  /** Another opener took over. */
  fence(): void {
    this.#isClosed = true;
    this.#clock.endOfTurn(() => this.#listener?.fenced(new Error('fenced')));
  }

  #confirm(): void {
    if (this.#isClosed) return;
    const payloads = this.#pending;
    this.#pending = [];
    if (this.appendError !== undefined) {
      this.#listener?.failed(payloads.length, this.appendError);
      return;
    }
    const ledger = this.#log.ledgerIds.at(-1)!;
    const first = this.#entryId + 1;
    for (const payload of payloads) {
      this.#entryId++;
      this.#log.entries.push({ position: { ledgerId: ledger, entryId: entryId(this.#entryId) }, payload: Buffer.from(payload) });
    }
    this.#listener?.appended(ledger, entryId(first), payloads.length);
    for (const one of [...this.#waiting]) {
      if (comparePositions(this.lastConfirmed, one.after) <= 0) continue;
      this.#waiting.splice(this.#waiting.indexOf(one), 1);
      one.task();
    }
  }

  async read(after: Position, limits: { entriesMax: number; bytesMax: number }): Promise<StoredEntry[]> {
    invariant(limits.entriesMax > 0, 'a read of nothing');
    this.reads.push({ after, entriesMax: limits.entriesMax });
    await this.#clock.sleep(0);
    if (this.readError !== undefined) throw this.readError;
    const found: StoredEntry[] = [];
    let bytes = 0;
    for (let index = this.#indexAfter(after); index < this.#log.entries.length && found.length < limits.entriesMax; index++) {
      const entry = this.#log.entries[index]!;
      bytes += entry.payload.length;
      if (found.length > 0 && bytes > limits.bytesMax) break;
      found.push(entry);
    }
    return found;
  }

  async readOne(position: Position): Promise<StoredEntry | undefined> {
    return this.#at(position);
  }

  onAppended(after: Position, task: () => void): { stop(): void } {
    if (comparePositions(this.lastConfirmed, after) > 0) {
      task();
      return { stop: () => {} };
    }
    const one = { after, task };
    this.#waiting.push(one);
    return {
      stop: () => {
        const at = this.#waiting.indexOf(one);
        if (at >= 0) this.#waiting.splice(at, 1);
      },
    };
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  previous(position: Position): Position {
    let index = this.#indexAfter(position) - 1;
    const at = this.#log.entries[index];
    if (at !== undefined && comparePositions(at.position, position) === 0) index--;
    return this.#log.entries[index]?.position ?? this.beforeFirst;
  }

  next(position: Position): Position {
    return this.#log.entries[this.#indexAfter(position)]?.position ?? { ledgerId: this.#log.ledgerIds.at(-1)!, entryId: entryId(this.#entryId + 1) };
  }

  countBetween(after: Position, upTo: Position): number {
    return Math.max(0, this.#indexAfter(upTo) - this.#indexAfter(after));
  }

  async openCursor(name: string, initial: Position): Promise<Cursor> {
    await this.#clock.sleep(1);
    const existing = this.cursors.get(name);
    if (existing !== undefined) return existing;
    const state: CursorState = { markDelete: initial, acknowledged: new PositionMap() };
    this.#log.cursors.set(name, state);
    const cursor = new MemoryCursor(name, true, this, state);
    this.cursors.set(name, cursor);
    return cursor;
  }

  openTransientCursor(name: string, initial: Position): Cursor {
    return new MemoryCursor(name, false, this, { markDelete: initial, acknowledged: new PositionMap() });
  }

  async deleteCursor(name: string): Promise<void> {
    await this.#clock.sleep(1);
    this.cursors.delete(name);
    this.#log.cursors.delete(name);
  }

  async trim(): Promise<void> {}

  async roll(): Promise<void> {
    this.#log.ledgerIds.push(this.#shared.nextLedgerId());
    this.#entryId = -1;
  }

  internalStats(): ManagedLedgerStats {
    return {
      entriesAddedCounter: this.entriesCount,
      numberOfEntries: this.entriesCount,
      totalBytes: this.totalBytes,
      currentLedgerEntries: this.#entryId + 1,
      currentLedgerBytes: 0,
      lastLedgerCreatedMs: 0,
      lastLedgerCreationFailureMs: undefined,
      waitingCursorsCount: this.#waiting.length,
      pendingAppendsCount: this.#pending.length,
      lastConfirmed: this.lastConfirmed,
      state: this.#isClosed ? 'Closed' : 'LedgerOpened',
      ledgers: this.#log.ledgerIds.map((id) => ({ ledgerId: id, entries: 0, bytes: 0, isUnderReplicated: false })),
      cursors: new Map([...this.cursors].map(([name, cursor]) => [name, cursor.stats()])),
      ensemble: { size: 1, configured: 1 },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#clock.sleep(1);
    if (this.#log.holder === this) this.#log.holder = undefined;
  }

  async delete(): Promise<void> {
    await this.close();
    this.#shared.logs.delete(this.name);
  }

  #at(position: Position): StoredEntry | undefined {
    const entry = this.#log.entries[this.#indexAfter({ ledgerId: position.ledgerId, entryId: (position.entryId - 1) as EntryId })];
    return entry !== undefined && comparePositions(entry.position, position) === 0 ? entry : undefined;
  }

  /** Of the first entry after a position. */
  #indexAfter(after: Position): number {
    let low = 0;
    let high = this.#log.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comparePositions(this.#log.entries[middle]!.position, after) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
