import { comparePositions, noEntry, type Position } from '@daybook/proto';
import type { AckSet } from './ack-set.js';
import type { CursorStore } from './cursor-store.js';
import type { LedgerChain } from './ledger-chain.js';
import type { Cursor, CursorStats } from './managed-ledger-api.js';

export interface CursorLog {
  readonly chain: LedgerChain;
  readonly lastConfirmed: Position;
  /** The mark has moved: ledgers may have become needless. */
  cursorMoved(): void;
}

const rangesShownMax = 10_000;

/** The mark that means `position` now: between before the first entry that exists and the newest confirmed one. */
export function existingMark({ chain, lastConfirmed }: Pick<CursorLog, 'chain' | 'lastConfirmed'>, position: Position): Position {
  const { beforeFirst } = chain;
  if (comparePositions(position, lastConfirmed) >= 0) return comparePositions(lastConfirmed, beforeFirst) < 0 ? beforeFirst : lastConfirmed;
  return chain.has(position) ? position : chain.previous(chain.next(position));
}

/** A position in a log: in memory, and with a store durable. */
export class LogCursor implements Cursor {
  readonly name: string;
  readonly #log: CursorLog;
  readonly #acks: AckSet;
  readonly #properties: ReadonlyMap<string, bigint>;
  #store: CursorStore | undefined;

  constructor(log: CursorLog, cursor: { name: string; acks: AckSet; properties?: ReadonlyMap<string, bigint> }) {
    this.name = cursor.name;
    this.#log = log;
    this.#acks = cursor.acks;
    this.#properties = cursor.properties ?? new Map();
  }

  /** Makes it durable; before first use. */
  keepIn(store: CursorStore): void {
    this.#store = store;
  }

  get store(): CursorStore | undefined {
    return this.#store;
  }

  /** What is acknowledged of what still exists: trimmed ledgers count as passed. */
  get #current(): AckSet {
    if (this.#log.chain.first.ledgerId > this.#acks.mark.ledgerId) this.#acks.trimmed(this.#log.chain.beforeFirst);
    return this.#acks;
  }

  get isDurable(): boolean {
    return this.#store !== undefined;
  }

  get markDelete(): Position {
    return this.#current.mark;
  }

  get backlog(): number {
    return this.#current.backlog(this.#log.lastConfirmed);
  }

  get properties(): ReadonlyMap<string, bigint> {
    return this.#properties;
  }

  acknowledge(position: Position): boolean {
    if (!this.#current.add(position)) return false;
    this.#changed();
    return true;
  }

  acknowledgeUpTo(position: Position): void {
    if (this.#current.addUpTo(existingMark(this.#log, position))) this.#changed();
  }

  isAcknowledged(position: Position): boolean {
    return this.#current.has(position);
  }

  async reset(markDelete: Position): Promise<void> {
    this.#current.reset(existingMark(this.#log, markDelete));
    this.#changed();
    await this.flush();
  }

  flush(): Promise<void> {
    return this.#store?.flush() ?? Promise.resolve();
  }

  stats(): CursorStats {
    const store = this.#store;
    return {
      markDeletePosition: this.#current.mark,
      individuallyDeletedRanges: this.#current.ranges(rangesShownMax).map(({ lower, upper }) => ({ after: lower, upTo: upper })),
      individuallyDeletedRangesCount: this.#current.rangesCount(),
      properties: this.#properties,
      cursorLedgerId: store?.ledgerId,
      cursorLedgerLastEntryId: store?.lastEntryId ?? noEntry,
      lastLedgerSwitchMs: store?.lastSwitchMs ?? 0,
      state: store?.isClosed ? 'Closed' : store?.ledgerId === undefined ? 'NoLedger' : 'Open',
    };
  }

  #changed(): void {
    this.#store?.changed();
    this.#log.cursorMoved();
  }
}
