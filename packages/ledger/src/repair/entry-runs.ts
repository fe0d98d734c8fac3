import type { EntryId } from '@daybook/proto';
import { invariant } from '@daybook/runtime';
import { storesEntry } from '../distribution.js';
import type { QuorumSizes } from '../quorum.js';

/** Entries first..last, both included. */
export interface EntryRun {
  readonly first: number;
  readonly last: number;
}

/** `whole` without `held` (ascending, apart): ascending runs. */
export function runsWithout(whole: EntryRun, held: readonly EntryRun[]): EntryRun[] {
  const gaps: EntryRun[] = [];
  let next = whole.first;
  for (const run of held) {
    if (run.last < next) continue;
    if (run.first > whole.last) break;
    if (run.first > next) gaps.push({ first: next, last: run.first - 1 });
    next = run.last + 1;
  }
  if (next <= whole.last) gaps.push({ first: next, last: whole.last });
  return gaps;
}

/** How many of the entries first..last the member at `index` stores. */
export function ownCount(sizes: QuorumSizes, index: number, { first, last }: EntryRun): number {
  return last < first ? 0 : ownBelow(sizes, index, last + 1) - ownBelow(sizes, index, first);
}

/** How many of the entries 0..end-1 the member at `index` stores. */
function ownBelow({ ensembleSize, writeQuorumSize }: QuorumSizes, index: number, end: number): number {
  const cycles = Math.floor(end / ensembleSize);
  let count = cycles * writeQuorumSize;
  for (let entry = cycles * ensembleSize; entry < end; entry++) if (storesEntry({ ensembleSize, writeQuorumSize }, index, entry)) count++;
  return count;
}

export function ownCountOf(sizes: QuorumSizes, index: number, runs: readonly EntryRun[]): number {
  return runs.reduce((sum, run) => sum + ownCount(sizes, index, run), 0);
}

/** The entries of ascending runs that the member at `index` stores, a few at a time: a long ledger is never spelt out as a whole. */
export class OwnEntries {
  readonly #sizes: QuorumSizes;
  readonly #index: number;
  readonly #runs: readonly EntryRun[];
  #place = 0;
  #next: number;

  constructor(sizes: QuorumSizes, index: number, runs: readonly EntryRun[]) {
    this.#sizes = sizes;
    this.#index = index;
    this.#runs = runs;
    this.#next = runs[0]?.first ?? 0;
  }

  /** The next entries, at most `count`; none at the end. */
  take(count: number): EntryId[] {
    invariant(count > 0, 'at least one entry is taken');
    const ids: EntryId[] = [];
    for (let run = this.#runs[this.#place]; run !== undefined && ids.length < count; run = this.#runs[this.#place]) {
      while (this.#next <= run.last && ids.length < count) {
        if (storesEntry(this.#sizes, this.#index, this.#next)) ids.push(this.#next as EntryId);
        this.#next++;
      }
      if (this.#next <= run.last) break;
      this.#place++;
      this.#next = this.#runs[this.#place]?.first ?? 0;
    }
    return ids;
  }
}

/** Whether one of ascending runs has this entry. */
export function runsHave(runs: readonly EntryRun[], entry: number): boolean {
  let low = 0;
  let high = runs.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const run = runs[middle] as EntryRun;
    if (entry < run.first) high = middle - 1;
    else if (entry > run.last) low = middle + 1;
    else return true;
  }
  return false;
}

/** Single entries as ascending runs, joined with others. */
export function runsWith(runs: readonly EntryRun[], entries: readonly number[]): EntryRun[] {
  const all = [...runs, ...entries.map((entry) => ({ first: entry, last: entry }))].sort((a, b) => a.first - b.first);
  const out: EntryRun[] = [];
  for (const run of all) {
    const last = out.at(-1);
    if (last !== undefined && run.first <= last.last + 1) out[out.length - 1] = { first: last.first, last: Math.max(last.last, run.last) };
    else out.push(run);
  }
  return out;
}
