import { type EntryId, type LedgerId, noEntry, type Position } from '@daybook/proto';
import { invariant } from '@daybook/runtime';

/** One ledger of a log. Of the last one, entries and bytes are what is confirmed so far. */
export interface ChainLedger {
  readonly ledgerId: LedgerId;
  readonly entries: number;
  readonly bytes: number;
  /** When it was closed, milliseconds since the epoch; 0 while it is open. */
  readonly closedAtMs: number;
}

interface Link {
  ledgerId: LedgerId;
  entries: number;
  bytes: number;
  closedAtMs: number;
  /** Entries of all ledgers before this one, from a base that never changes: differences count entries. */
  startCount: number;
}

/** The ledgers of a log in order: pure arithmetic on positions, O(log ledgers). Ids rise; gaps between them mean nothing. */
export class LedgerChain {
  #links: Link[] = [];
  #totalBytes = 0;

  constructor(ledgers: readonly ChainLedger[]) {
    for (const ledger of ledgers) this.append(ledger);
  }

  get length(): number {
    return this.#links.length;
  }

  get first(): ChainLedger {
    return this.#links[0] as Link;
  }

  get last(): ChainLedger {
    return this.#links.at(-1) as Link;
  }

  get entriesCount(): number {
    const last = this.#links.at(-1) as Link;
    return last.startCount + last.entries - (this.#links[0] as Link).startCount;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  /** Copies, so that a change of the chain does not show through. */
  ledgers(): ChainLedger[] {
    return this.#links.map(({ ledgerId, entries, bytes, closedAtMs }) => ({ ledgerId, entries, bytes, closedAtMs }));
  }

  get(ledgerId: LedgerId): ChainLedger | undefined {
    const link = this.#links[this.#indexFrom(ledgerId)];
    return link?.ledgerId === ledgerId ? link : undefined;
  }

  append(ledger: ChainLedger): void {
    const last = this.#links.at(-1);
    invariant(last === undefined || last.ledgerId < ledger.ledgerId, 'ledger ids of a log rise');
    const { ledgerId, entries, bytes, closedAtMs } = ledger;
    this.#links.push({ ledgerId, entries, bytes, closedAtMs, startCount: last === undefined ? 0 : last.startCount + last.entries });
    this.#totalBytes += ledger.bytes;
  }

  /** More entries of the last ledger are confirmed. */
  grow(entries: number, bytes: number): void {
    const last = this.#links.at(-1) as Link;
    last.entries += entries;
    last.bytes += bytes;
    this.#totalBytes += bytes;
  }

  /** The last ledger ended: what it holds for good. */
  closeLast(end: { entries: number; bytes: number; closedAtMs: number }): void {
    const last = this.#links.at(-1) as Link;
    this.#totalBytes += end.bytes - last.bytes;
    last.entries = end.entries;
    last.bytes = end.bytes;
    last.closedAtMs = end.closedAtMs;
  }

  /** Takes the last ledger out, when it holds nothing. */
  removeEmptyLast(): void {
    const last = this.#links.pop();
    invariant(last !== undefined && last.entries === 0, 'only an empty ledger is taken out at the end');
  }

  dropFirst(count: number): void {
    for (const link of this.#links.splice(0, count)) this.#totalBytes -= link.bytes;
  }

  get beforeFirst(): Position {
    return { ledgerId: this.first.ledgerId, entryId: noEntry };
  }

  /** The newest confirmed entry, or before the first ledger's first when there is none. */
  newest(): Position {
    for (let index = this.#links.length - 1; index >= 0; index--) {
      const link = this.#links[index] as Link;
      if (link.entries > 0) return { ledgerId: link.ledgerId, entryId: (link.entries - 1) as EntryId };
    }
    return this.beforeFirst;
  }

  /** Whether this entry is stored and confirmed. */
  has(position: Position): boolean {
    return position.entryId >= 0 && position.entryId < (this.get(position.ledgerId)?.entries ?? 0);
  }

  /** The first existing position after `position`; at the end, the place the next entry of the last ledger takes. */
  next(position: Position): Position {
    let index = this.#indexFrom(position.ledgerId);
    let link = this.#links[index];
    let entryId = link?.ledgerId === position.ledgerId ? position.entryId + 1 : 0;
    while (link !== undefined && index < this.#links.length - 1 && entryId >= link.entries) {
      link = this.#links[++index];
      entryId = 0;
    }
    if (link !== undefined) return { ledgerId: link.ledgerId, entryId: entryId as EntryId };
    const last = this.#links.at(-1) as Link;
    return { ledgerId: last.ledgerId, entryId: last.entries as EntryId };
  }

  /** The last existing position before `position`; without one, before the first. Reading after it begins at `position`. */
  previous(position: Position): Position {
    let index = this.#indexFrom(position.ledgerId);
    let link = this.#links[index];
    if (link?.ledgerId === position.ledgerId) {
      const entryId = Math.min(position.entryId, link.entries) - 1;
      if (entryId >= 0) return { ledgerId: link.ledgerId, entryId: entryId as EntryId };
    }
    while (--index >= 0) {
      link = this.#links[index] as Link;
      if (link.entries > 0) return { ledgerId: link.ledgerId, entryId: (link.entries - 1) as EntryId };
    }
    return this.beforeFirst;
  }

  /** Confirmed entries in (after, upTo]; never below 0. */
  countBetween(after: Position, upTo: Position): number {
    return Math.max(0, this.#ordinal(upTo) - this.#ordinal(after));
  }

  /** How many entries there were up to and including `position`, counted from the fixed base. */
  #ordinal(position: Position): number {
    const link = this.#links[this.#indexFrom(position.ledgerId)];
    if (link === undefined) {
      const last = this.#links.at(-1) as Link;
      return last.startCount + last.entries;
    }
    return link.ledgerId === position.ledgerId ? link.startCount + Math.min(position.entryId + 1, link.entries) : link.startCount;
  }

  /** Index of the first ledger whose id is at least `ledgerId`. */
  #indexFrom(ledgerId: LedgerId): number {
    let low = 0;
    let high = this.#links.length;
    // The end of a log is asked for most.
    if (high > 0 && (this.#links[high - 1] as Link).ledgerId === ledgerId) return high - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#links[middle] as Link).ledgerId < ledgerId) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
