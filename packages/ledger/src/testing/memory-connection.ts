import type {
  AppendBatch,
  AwaitLacReply,
  AwaitLacRequest,
  BookieCode,
  BookieId,
  BookieInfoReply,
  BookieService,
  CodeReply,
  FenceRequest,
  ForceRequest,
  LacReply,
  LedgerId,
  ListEntriesReply,
  ReadReply,
  ReadRequest,
  WriteLacRequest,
} from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { MemoryBookie } from './memory-bookie.js';

/** One client's way to a bookie in memory, and to the disks it had when it was made. */
export class MemoryConnection implements BookieService {
  readonly bookieId: BookieId;
  readonly #bookie: MemoryBookie;
  readonly #incarnation: string;
  readonly #clock: Clock;
  #isClosed = false;

  constructor(bookie: MemoryBookie, incarnation: string, clock: Clock) {
    this.bookieId = bookie.bookieId;
    this.#bookie = bookie;
    this.#incarnation = incarnation;
    this.#clock = clock;
  }

  append(batch: AppendBatch, done: (code: BookieCode) => void): void {
    if (this.#isClosed) {
      this.#clock.endOfTurn(() => done('UNAVAILABLE'));
      return;
    }
    this.#bookie.request<BookieCode>(
      this.#incarnation,
      () => this.#bookie.store(batch),
      (code) => code,
      (code) => {
        if (!this.#bookie.loseReplies) done(code);
      },
    );
  }

  read(request: ReadRequest): Promise<ReadReply> {
    return this.#ask(
      () => this.#bookie.read(request),
      (code) => ({ code, entries: [] }),
    );
  }

  fence(request: FenceRequest): Promise<LacReply> {
    return this.#ask(
      () => this.#bookie.fence(request),
      (code) => ({ code }),
    );
  }

  readLac(ledgerId: LedgerId): Promise<LacReply> {
    return this.#ask(
      () => this.#bookie.lac(ledgerId),
      (code) => ({ code }),
    );
  }

  awaitLac(request: AwaitLacRequest, stop?: AbortSignal): Promise<AwaitLacReply> {
    return new Promise((resolve) => {
      if (this.#isClosed) return this.#clock.endOfTurn(() => resolve({ code: 'UNAVAILABLE' }));
      this.#bookie.request<AwaitLacReply | undefined>(
        this.#incarnation,
        () => undefined,
        (code) => ({ code }),
        (failure) => (failure === undefined ? this.#bookie.awaitLac(request, stop, resolve) : resolve(failure)),
      );
    });
  }

  writeLac(request: WriteLacRequest): Promise<CodeReply> {
    return this.#ask(
      () => this.#bookie.writeLac(request),
      (code) => ({ code }),
    );
  }

  force(request: ForceRequest): Promise<CodeReply> {
    return this.#ask(
      () => this.#bookie.force(request),
      (code) => ({ code }),
    );
  }

  listEntries(ledgerId: LedgerId): Promise<ListEntriesReply> {
    return this.#ask(
      () => this.#bookie.list(ledgerId),
      (code) => ({ code, runs: [] }),
    );
  }

  info(): Promise<BookieInfoReply> {
    return this.#ask<BookieInfoReply>(
      () => ({ code: 'OK', totalBytes: 1e12, freeBytes: 1e12 }),
      (code) => ({ code, totalBytes: 0, freeBytes: 0 }),
    );
  }

  close(): void {
    this.#isClosed = true;
  }

  #ask<Reply>(work: () => Reply, failed: (code: 'UNAVAILABLE' | 'TIMEOUT') => Reply): Promise<Reply> {
    return new Promise((resolve) => {
      if (this.#isClosed) this.#clock.endOfTurn(() => resolve(failed('UNAVAILABLE')));
      else this.#bookie.request(this.#incarnation, work, failed, resolve);
    });
  }
}
