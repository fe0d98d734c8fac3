import type { BookieRegistry, RegisteredBookie } from '@daybook/metadata';
import type { BookieCode, BookieId, BookieService } from '@daybook/proto';
import { type Clock, type Logger, silentLogger } from '@daybook/runtime';

import type { BookieHealth } from './placement.js';

/** A way to one incarnation of one bookie. It reconnects by itself; once closed it answers `UNAVAILABLE`. */
export interface BookieConnection {
  readonly service: BookieService;
  close(): void;
}

export type ConnectBookie = (bookie: RegisteredBookie) => BookieConnection;

export interface PooledBookie {
  readonly bookieId: BookieId;
  /** The disks this connection was made for: it never silently reaches others (P6). */
  readonly incarnation: string;
  readonly isInProcess: boolean;
  readonly service: BookieService;
}

export interface BookiePoolDependencies {
  clock: Clock;
  registry: BookieRegistry;
  /** In-process bookies: return the bookie itself. Others: `connectGrpcBookie` of `@daybook/ledger/grpc`. */
  connect: ConnectBookie;
  logger?: Logger;
}

interface Quarantine {
  failuresCount: number;
  untilMs: number;
  /** A bookie whose disk takes no entries may well answer reads: only an append that succeeds ends it. */
  isOfAppends: boolean;
}

interface Pooled extends PooledBookie {
  readonly address: string;
  readonly connection: BookieConnection;
}

const quarantineMsMin = 1_000;
const quarantineMsMax = 60_000;

/** How long a bookie that was too slow once is asked after the others (BookKeeper's `bookieFailureHistoryExpirationMSec`). */
const slowMs = 60_000;

/** Codes that say something about the bookie, not about the request. */
const failureCodes: ReadonlySet<BookieCode> = new Set(['UNAVAILABLE', 'TIMEOUT', 'IO_ERROR', 'READ_ONLY']);
/** It is there and says what it knows. */
const endingCodes: ReadonlySet<BookieCode> = new Set(['OK', 'NO_ENTRY', 'NO_LEDGER', 'FENCED']);

/**
 * One connection per bookie for the whole process. A connection belongs to one incarnation: when the registry names another one (or another address), the
 * old connection is closed, so that whoever still holds it gets `UNAVAILABLE` and has to look again.
 *
 * Bookies that fail are quarantined: from the first failure on (BookKeeper: from 100 in a minute), but only for a second, twice as long each time up to a minute
 * (BookKeeper: half an hour), and no longer than until they answer or register again.
 */
export class BookiePool implements BookieHealth {
  readonly #clock: Clock;
  readonly #registry: BookieRegistry;
  readonly #connect: ConnectBookie;
  readonly #logger: Logger;
  readonly #pooled = new Map<BookieId, Pooled>();
  readonly #quarantine = new Map<BookieId, Quarantine>();
  /** Until when they count as slow. */
  readonly #slow = new Map<BookieId, number>();
  readonly #watch: { stop(): void };
  #up: ReadonlySet<BookieId>;
  #isClosed = false;

  constructor(dependencies: BookiePoolDependencies) {
    this.#clock = dependencies.clock;
    this.#registry = dependencies.registry;
    this.#connect = dependencies.connect;
    this.#logger = dependencies.logger ?? silentLogger;
    this.#up = this.#namesUp();
    this.#watch = this.#registry.onChange(() => this.#registryChanged());
  }

  /** The connection to a bookie as it is registered now, or as it was last seen (it may still answer); undefined when it was never seen. */
  get(bookieId: BookieId): PooledBookie | undefined {
    if (this.#isClosed) return undefined;
    const registered = this.#registry.get(bookieId);
    if (registered !== undefined) this.#dropOther(registered);
    const pooled = this.#pooled.get(bookieId);
    if (pooled !== undefined || registered === undefined) return pooled;
    const connection = this.#connect(registered);
    const { incarnation, address } = registered;
    const made = { bookieId, incarnation, address, isInProcess: address === '', connection, service: connection.service };
    this.#pooled.set(bookieId, made);
    return made;
  }

  /** Every caller of a bookie reports what it was answered, and whether it was about appending. */
  report(bookieId: BookieId, code: BookieCode, isAppend = false): void {
    if (failureCodes.has(code)) this.#failed(bookieId, code, isAppend);
    else if (this.#quarantine.size > 0 && endingCodes.has(code)) this.#answered(bookieId, isAppend);
  }

  /** Somebody waited too long for it and asked another one. */
  reportSlow(bookieId: BookieId): void {
    this.#slow.set(bookieId, this.#clock.monoMs() + slowMs);
  }

  #answered(bookieId: BookieId, isAppend: boolean): void {
    const quarantine = this.#quarantine.get(bookieId);
    if (quarantine === undefined || (quarantine.isOfAppends && !isAppend)) return;
    this.#quarantine.delete(bookieId);
    this.#logger.info({ bookieId }, 'bookie answers again');
  }

  #isSlow(bookieId: BookieId): boolean {
    const untilMs = this.#slow.get(bookieId);
    if (untilMs === undefined) return false;
    if (this.#clock.monoMs() < untilMs) return true;
    this.#slow.delete(bookieId);
    return false;
  }

  isQuarantined(bookieId: BookieId): boolean {
    const entry = this.#quarantine.get(bookieId);
    return entry !== undefined && this.#clock.monoMs() < entry.untilMs;
  }

  /** In which order replicas are asked: lower is better (in this process, healthy, slow, read-only, failing, not registered). */
  readRank(bookieId: BookieId): number {
    const registered = this.#registry.get(bookieId);
    if (registered === undefined) return 5;
    if (this.isQuarantined(bookieId)) return 4;
    if (!registered.isWritable) return 3;
    if (this.#slow.size > 0 && this.#isSlow(bookieId)) return 2;
    return registered.address === '' ? 0 : 1;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watch.stop();
    for (const pooled of this.#pooled.values()) pooled.connection.close();
    this.#pooled.clear();
  }

  #failed(bookieId: BookieId, code: BookieCode, isAppend: boolean): void {
    const before = this.#quarantine.get(bookieId);
    const nowMs = this.#clock.monoMs();
    // Many requests fail together: only a failure after the last quarantine ended makes it longer.
    if (before !== undefined && nowMs < before.untilMs) {
      before.isOfAppends ||= isAppend;
      return;
    }
    const failuresCount = (before?.failuresCount ?? 0) + 1;
    const untilMs = nowMs + Math.min(quarantineMsMax, quarantineMsMin * 2 ** (failuresCount - 1));
    this.#quarantine.set(bookieId, { failuresCount, untilMs, isOfAppends: isAppend || before?.isOfAppends === true });
    if (failuresCount === 1) this.#logger.warn({ bookieId, code }, 'bookie fails: others are preferred for a while');
  }

  #registryChanged(): void {
    const up = this.#namesUp();
    for (const bookieId of up) {
      if (this.#up.has(bookieId)) continue;
      this.#quarantine.delete(bookieId);
      this.#slow.delete(bookieId);
    }
    this.#up = up;
    for (const registered of this.#registry.list()) this.#dropOther(registered);
  }

  #dropOther(registered: RegisteredBookie): void {
    const pooled = this.#pooled.get(registered.bookieId);
    if (pooled === undefined || (pooled.incarnation === registered.incarnation && pooled.address === registered.address)) return;
    this.#pooled.delete(registered.bookieId);
    this.#quarantine.delete(registered.bookieId);
    pooled.connection.close();
  }

  #namesUp(): ReadonlySet<BookieId> {
    return new Set(this.#registry.list().map((bookie) => bookie.bookieId));
  }
}
