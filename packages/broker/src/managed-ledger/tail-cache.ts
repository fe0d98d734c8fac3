import type { EntryId, LedgerId } from '@daybook/proto';
import type { Slab } from './entry-cache.js';
import type { StoredEntry } from './managed-ledger-api.js';

/** Consecutive entries of one ledger. */
interface Run {
  readonly ledgerId: LedgerId;
  readonly firstEntryId: number;
  count: number;
}

const compactAt = 1024;

/** Which of a log's newest confirmed entries are still in the shared {@link EntryCache}, and where. No object per entry. */
export class TailCache {
  #slabs: Slab[] = [];
  #offsets: number[] = [];
  #lengths: number[] = [];
  /** Index of the oldest entry in the arrays. */
  #head = 0;
  #runs: Run[] = [];
  #lastSlab: Slab | undefined;

  get count(): number {
    return this.#slabs.length - this.#head;
  }

  /** Entries come in order; one whose slab was dropped meanwhile empties the cache, as what is cached has no gaps. */
  add(entry: { ledgerId: LedgerId; entryId: number; slab: Slab; offset: number; length: number }): void {
    if (entry.slab.isEvicted) {
      this.clear();
      return;
    }
    const run = this.#runs.at(-1);
    if (run !== undefined && run.ledgerId === entry.ledgerId && run.firstEntryId + run.count === entry.entryId) run.count++;
    else this.#runs.push({ ledgerId: entry.ledgerId, firstEntryId: entry.entryId, count: 1 });
    this.#slabs.push(entry.slab);
    this.#offsets.push(entry.offset);
    this.#lengths.push(entry.length);
    if (entry.slab !== this.#lastSlab) {
      this.#lastSlab = entry.slab;
      entry.slab.owners.add(this);
    }
  }

  /** Entries from `first` on, as far as the run and the limits go; undefined when `first` is not here. */
  read(ledgerId: LedgerId, first: EntryId, limits: { entriesMax: number; bytesMax: number }): StoredEntry[] | undefined {
    let index = this.#head;
    for (const run of this.#runs) {
      if (run.ledgerId === ledgerId && first >= run.firstEntryId && first < run.firstEntryId + run.count) {
        const skipped = first - run.firstEntryId;
        return this.#take(index + skipped, { ledgerId, entryId: first, count: Math.min(run.count - skipped, limits.entriesMax) }, limits.bytesMax);
      }
      index += run.count;
    }
    return undefined;
  }

  /** The oldest cached entry of a ledger: reading before it has to stop there. */
  firstOf(ledgerId: LedgerId): number | undefined {
    return this.#runs.find((run) => run.ledgerId === ledgerId)?.firstEntryId;
  }

  /** Forgets entries whose slabs were dropped; they are the oldest. */
  prune(): void {
    let dropped = 0;
    while (this.#head + dropped < this.#slabs.length && (this.#slabs[this.#head + dropped] as Slab).isEvicted) dropped++;
    this.#drop(dropped);
  }

  /** Forgets entries of ledgers before `ledgerId`. */
  dropBefore(ledgerId: LedgerId): void {
    let dropped = 0;
    for (const run of this.#runs) {
      if (run.ledgerId >= ledgerId) break;
      dropped += run.count;
    }
    this.#drop(dropped);
  }

  clear(): void {
    this.#slabs = [];
    this.#offsets = [];
    this.#lengths = [];
    this.#runs = [];
    this.#head = 0;
    this.#lastSlab = undefined;
  }

  #take(index: number, from: { ledgerId: LedgerId; entryId: number; count: number }, bytesMax: number): StoredEntry[] {
    const out: StoredEntry[] = [];
    let bytes = 0;
    for (let i = 0; i < from.count; i++) {
      const length = this.#lengths[index + i] as number;
      if (i > 0 && bytes + length > bytesMax) break;
      const offset = this.#offsets[index + i] as number;
      bytes += length;
      out.push({
        position: { ledgerId: from.ledgerId, entryId: (from.entryId + i) as EntryId },
        payload: (this.#slabs[index + i] as Slab).bytes.subarray(offset, offset + length),
      });
    }
    return out;
  }

  #drop(count: number): void {
    if (count === 0) return;
    if (count === this.count) {
      this.clear();
      return;
    }
    this.#head += count;
    let left = count;
    while (left > 0) {
      const run = this.#runs[0] as Run;
      if (run.count > left) {
        this.#runs[0] = { ledgerId: run.ledgerId, firstEntryId: run.firstEntryId + left, count: run.count - left };
        break;
      }
      left -= run.count;
      this.#runs.shift();
    }
    if (this.#head < compactAt || this.#head * 2 < this.#slabs.length) return;
    this.#slabs = this.#slabs.slice(this.#head);
    this.#offsets = this.#offsets.slice(this.#head);
    this.#lengths = this.#lengths.slice(this.#head);
    this.#head = 0;
  }
}
