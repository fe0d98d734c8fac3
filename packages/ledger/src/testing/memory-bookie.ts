import {
  type AppendBatch,
  type AwaitLacReply,
  type AwaitLacRequest,
  type BookieCode,
  type BookieId,
  bookieId,
  type CodeReply,
  decodeAppendBatch,
  type EntryId,
  entryLastAddConfirmed,
  explicitLacOf,
  type FenceRequest,
  type ForceRequest,
  type LacReply,
  type LedgerId,
  type ListEntriesReply,
  type ReadReply,
  type ReadRequest,
  type WriteLacRequest,
} from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { BookieConnection } from '../bookie-pool.js';
import { MemoryConnection } from './memory-connection.js';

interface StoredLedger {
  masterKey: Buffer;
  isFenced: boolean;
  readonly entries: Map<EntryId, Buffer>;
  /** Answered, and lost in a crash unless {@link MemoryBookie.force} came in between. */
  readonly unsynced: Set<EntryId>;
  explicitLac: Buffer | undefined;
}

interface LacWaiter {
  readonly ledgerId: LedgerId;
  readonly after: number;
  wake(): void;
}

export interface MemoryBookieOptions {
  clock: Clock;
  bookieId: string;
  /** From request to answer; the answers of one bookie stay in the order of the requests. Default 0. */
  delayMs?: number;
}

/**
 * A bookie in memory that keeps the promises of `BookieService`: master keys, fencing, order of answers, negatives only for what it never had. What goes
 * wrong is set from outside, at any time.
 */
export class MemoryBookie {
  readonly bookieId: BookieId;
  readonly #clock: Clock;
  #incarnation = 1;
  #ledgers = new Map<LedgerId, StoredLedger>();
  #held: (() => void)[] = [];
  readonly #waiters = new Set<LacWaiter>();
  #lastDueMs = 0;
  #isUp = true;
  #isStalled = false;
  delayMs: number;
  /** After which a stalled request is answered `TIMEOUT` (and still happens on {@link resume}). */
  timeoutMs = 5_000;
  /** Answer appends with this instead of storing them. */
  refuseAppends: BookieCode | undefined;
  /** Answer reads (also fencing ones and LAC reads) with this. */
  refuseReads: BookieCode | undefined;
  /** Asked first for every request; a code is the answer, and nothing happens. */
  intercept: ((request: 'append' | 'read' | 'fence' | 'lac' | 'await-lac' | 'write-lac' | 'force') => BookieCode | undefined) | undefined;
  /** It may have lost entries and fences: what it does not have is answered `UNKNOWN_LEDGER_STATE`, and only recovery appends are taken. */
  isInLimbo = false;
  /** Stores what is appended, and never tells. */
  loseReplies = false;
  appendsCount = 0;
  readsCount = 0;

  constructor(options: MemoryBookieOptions) {
    this.#clock = options.clock;
    this.bookieId = bookieId(options.bookieId);
    this.delayMs = options.delayMs ?? 0;
  }

  get incarnation(): string {
    return `${this.bookieId}-${this.#incarnation}`;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** A connection to the disks it has now: after {@link wipe} it answers `UNAVAILABLE`. */
  connect(): BookieConnection {
    const connection = new MemoryConnection(this, this.incarnation, this.#clock);
    return { service: connection, close: () => connection.close() };
  }

  /** Connections break: what has not arrived is lost, callers are told `UNAVAILABLE`. The disks stay, without what was never synced. */
  crash(): void {
    this.#isUp = false;
    for (const { entries, unsynced } of this.#ledgers.values()) {
      for (const id of unsynced) entries.delete(id);
      unsynced.clear();
    }
    this.resume();
    for (const waiter of [...this.#waiters]) waiter.wake();
  }

  get waitersCount(): number {
    return this.#waiters.size;
  }

  start(): void {
    this.#isUp = true;
  }

  /** SIGSTOP: requests wait until {@link resume}. */
  stall(): void {
    this.#isStalled = true;
  }

  resume(): void {
    this.#isStalled = false;
    const held = this.#held;
    this.#held = [];
    for (const task of held) task();
  }

  /** New disks under the old name. */
  wipe(): void {
    this.#incarnation++;
    this.#ledgers = new Map();
  }

  /** The disks are the same, what was on them is not: entries and fences are gone, and nobody can see it. */
  loseMemory(): void {
    this.#ledgers = new Map();
  }

  holds(ledgerId: LedgerId, entryId: number): boolean {
    return this.#ledgers.get(ledgerId)?.entries.has(entryId as EntryId) === true;
  }

  isFenced(ledgerId: LedgerId): boolean {
    return this.#ledgers.get(ledgerId)?.isFenced === true;
  }

  /** Flips a bit of the entry's last byte. */
  damage(ledgerId: LedgerId, entryId: number): void {
    const entry = this.#ledgers.get(ledgerId)?.entries.get(entryId as EntryId);
    if (entry !== undefined) entry[entry.length - 1] = (entry[entry.length - 1] as number) ^ 1;
  }

  forget(ledgerId: LedgerId, entryId: number): void {
    this.#ledgers.get(ledgerId)?.entries.delete(entryId as EntryId);
  }

  /** @internal Runs a request: `work` happens when it arrives; the answer comes then, or as what the caller's side of the wire makes of silence. */
  request<Reply>(incarnation: string, work: () => Reply, failed: (code: 'UNAVAILABLE' | 'TIMEOUT') => Reply, answer: (reply: Reply) => void): void {
    const isReachable = () => this.#isUp && incarnation === this.incarnation;
    if (!isReachable()) {
      this.#clock.endOfTurn(() => answer(failed('UNAVAILABLE')));
      return;
    }
    let isAnswered = false;
    const answerOnce = (reply: Reply) => {
      if (!isAnswered) answer(reply);
      isAnswered = true;
    };
    const arrive = () => {
      if (!isReachable()) return answerOnce(failed('UNAVAILABLE'));
      if (!this.#isStalled) return answerOnce(work());
      this.#held.push(arrive);
      this.#clock.after(this.timeoutMs, () => answerOnce(failed('TIMEOUT')));
    };
    const dueMs = Math.max(this.#lastDueMs, this.#clock.monoMs() + this.delayMs);
    this.#lastDueMs = dueMs;
    const waitMs = dueMs - this.#clock.monoMs();
    if (waitMs > 0) this.#clock.after(waitMs, arrive);
    else this.#clock.endOfTurn(arrive);
  }

  /** @internal */
  store(batch: AppendBatch): BookieCode {
    this.appendsCount++;
    const refusal = this.intercept?.('append') ?? this.refuseAppends;
    if (refusal !== undefined) return refusal;
    // What a real bookie sees: bytes, checked.
    const { ledgerId, isRecovery, isDeferredSync, count, bytes } = decodeAppendBatch(batch.bytes);
    const ledger = this.#ledgerWith(ledgerId, batch.masterKey());
    if (ledger === undefined) return 'UNAUTHORIZED';
    if (ledger.isFenced && !isRecovery) return 'FENCED';
    if (this.isInLimbo && !isRecovery) return 'READ_ONLY';
    if (isDeferredSync && newestOf(ledger) < batch.previousEntryId()) return 'IO_ERROR';
    for (let i = 0; i < count; i++) {
      const at = batch.offsetAt(i);
      ledger.entries.set(batch.entryIdAt(i), Buffer.from(bytes.subarray(at, at + batch.lengthAt(i))));
      if (isDeferredSync) ledger.unsynced.add(batch.entryIdAt(i));
    }
    this.#lacMoved(ledgerId);
    return 'OK';
  }

  /** @internal */
  force(request: ForceRequest): CodeReply {
    const refusal = this.intercept?.('force');
    if (refusal !== undefined) return { code: refusal };
    const ledger = this.#ledgers.get(request.ledgerId);
    if (ledger === undefined || newestOf(ledger) < request.lastEntryId) return { code: 'IO_ERROR' };
    ledger.unsynced.clear();
    return { code: 'OK' };
  }

  /** @internal */
  writeLac(request: WriteLacRequest): CodeReply {
    const refusal = this.intercept?.('write-lac');
    if (refusal !== undefined) return { code: refusal };
    const ledger = this.#ledgers.get(request.ledgerId);
    if (ledger === undefined) return { code: 'NO_LEDGER' };
    if (!ledger.masterKey.equals(request.masterKey)) return { code: 'UNAUTHORIZED' };
    const { lastAddConfirmed } = explicitLacOf(request.explicitLac);
    if (ledger.explicitLac === undefined || explicitLacOf(ledger.explicitLac).lastAddConfirmed < lastAddConfirmed) {
      ledger.explicitLac = Buffer.from(request.explicitLac);
    }
    this.#lacMoved(request.ledgerId);
    return { code: 'OK' };
  }

  /** @internal Answers once the mark is above `after`, or the time is over. */
  awaitLac(request: AwaitLacRequest, stop: AbortSignal | undefined, answer: (reply: AwaitLacReply) => void): void {
    const refusal = this.intercept?.('await-lac') ?? this.refuseReads;
    if (refusal !== undefined) {
      answer({ code: refusal });
      return;
    }
    const { ledgerId, after, timeoutMs, withEntry } = request;
    const end = () => {
      if (!this.#waiters.delete(waiter)) return;
      timer.cancel();
      if (!this.#isUp || stop?.aborted) {
        answer({ code: 'UNAVAILABLE' });
        return;
      }
      const reply = this.#newest(ledgerId);
      const entry = withEntry && this.#lacOf(ledgerId) > after ? this.#ledgers.get(ledgerId)?.entries.get((after + 1) as EntryId) : undefined;
      answer(entry === undefined ? reply : { ...reply, entry: Buffer.from(entry) });
    };
    const waiter = { ledgerId, after, wake: end };
    this.#waiters.add(waiter);
    const timer = this.#clock.after(timeoutMs, end);
    stop?.addEventListener('abort', end, { once: true });
    if (this.#lacOf(ledgerId) > after || stop?.aborted) end();
  }

  #lacOf(ledgerId: LedgerId): number {
    const { lastEntry, explicitLac } = this.#newest(ledgerId);
    const inEntry = lastEntry === undefined ? -1 : entryLastAddConfirmed(lastEntry);
    return explicitLac === undefined ? inEntry : Math.max(inEntry, explicitLacOf(explicitLac).lastAddConfirmed);
  }

  #lacMoved(ledgerId: LedgerId): void {
    for (const waiter of [...this.#waiters]) if (waiter.ledgerId === ledgerId && this.#lacOf(ledgerId) > waiter.after) waiter.wake();
  }

  /** @internal */
  read(request: ReadRequest): ReadReply {
    this.readsCount++;
    const refusal = this.intercept?.('read') ?? this.refuseReads;
    if (refusal !== undefined) return { code: refusal, entries: [] };
    if (request.fenceWithKey !== undefined && !this.#setFence(request.ledgerId, request.fenceWithKey)) return { code: 'UNAUTHORIZED', entries: [] };
    const ledger = this.#ledgers.get(request.ledgerId);
    if (ledger === undefined) return { code: this.#negative('NO_LEDGER'), entries: [] };
    const entries: Buffer[] = [];
    let bytes = 0;
    for (const id of request.entryIds) {
      const entry = ledger.entries.get(id);
      bytes += entry?.length ?? 0;
      if (entry === undefined || (entries.length > 0 && bytes > request.bytesMax)) break;
      entries.push(Buffer.from(entry));
    }
    return entries.length === 0 ? { code: this.#negative('NO_ENTRY'), entries } : { code: 'OK', entries };
  }

  /** @internal */
  fence(request: FenceRequest): LacReply {
    const refusal = this.intercept?.('fence') ?? this.refuseReads;
    if (refusal !== undefined) return { code: refusal };
    return this.#setFence(request.ledgerId, request.masterKey) ? this.#newest(request.ledgerId) : { code: 'UNAUTHORIZED' };
  }

  /** @internal */
  lac(ledgerId: LedgerId): LacReply {
    const refusal = this.intercept?.('lac') ?? this.refuseReads;
    return refusal === undefined ? this.#newest(ledgerId) : { code: refusal };
  }

  #newest(ledgerId: LedgerId): LacReply {
    const ledger = this.#ledgers.get(ledgerId);
    if (ledger === undefined) return { code: this.#negative('NO_LEDGER') };
    const lastEntry = ledger.entries.get(newestOf(ledger));
    const explicit = ledger.explicitLac !== undefined && { explicitLac: ledger.explicitLac };
    return lastEntry === undefined
      ? { code: this.#negative('NO_ENTRY'), ...explicit }
      : { code: 'OK', lastEntry: Buffer.from(lastEntry), ...explicit };
  }

  /** @internal */
  list(ledgerId: LedgerId): ListEntriesReply {
    const ledger = this.#ledgers.get(ledgerId);
    if (ledger === undefined) return { code: this.#negative('NO_LEDGER'), runs: [] };
    const code = this.isInLimbo ? 'UNKNOWN_LEDGER_STATE' : 'OK';
    const runs: { first: EntryId; last: EntryId }[] = [];
    for (const id of [...ledger.entries.keys()].sort((a, b) => a - b)) {
      const run = runs.at(-1);
      if (run !== undefined && run.last + 1 === id) run.last = id;
      else runs.push({ first: id, last: id });
    }
    return { code, runs };
  }

  #negative(code: 'NO_ENTRY' | 'NO_LEDGER'): BookieCode {
    return this.isInLimbo ? 'UNKNOWN_LEDGER_STATE' : code;
  }

  #setFence(ledgerId: LedgerId, masterKey: Uint8Array): boolean {
    const ledger = this.#ledgerWith(ledgerId, masterKey);
    if (ledger !== undefined) ledger.isFenced = true;
    return ledger !== undefined;
  }

  #ledgerWith(ledgerId: LedgerId, masterKey: Uint8Array): StoredLedger | undefined {
    const known = this.#ledgers.get(ledgerId);
    if (known !== undefined) return known.masterKey.equals(masterKey) ? known : undefined;
    const made: StoredLedger = {
      masterKey: Buffer.from(masterKey),
      isFenced: false,
      entries: new Map(),
      unsynced: new Set(),
      explicitLac: undefined,
    };
    this.#ledgers.set(ledgerId, made);
    return made;
  }
}

function newestOf(ledger: StoredLedger): EntryId {
  let newest = -1;
  for (const id of ledger.entries.keys()) if (id > newest) newest = id;
  return newest as EntryId;
}
