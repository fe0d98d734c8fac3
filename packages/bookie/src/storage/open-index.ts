import { type LedgerRow, type Run, runBytes } from './index-format.js';
import { grown, RangeChains } from './range-chains.js';

/** Bookkeeping of a run in memory: its node in the chains and where its positions are. */
const runOverheadBytes = 36;

/** The index of the log being written, in memory (a log is sealed before this outgrows its bound); on disk it is the frames of the index file. */
export class OpenIndex {
  readonly #heads = new Map<number, number>();
  readonly #runs = new RangeChains();
  /** Per run: where its positions start in `#positions`. */
  #at = new Uint32Array(0);
  #positions = new Uint32Array(0);
  #positionsCount = 0;
  #runsCount = 0;

  get bytes(): number {
    return this.#positionsCount * 4 + this.#runsCount * runOverheadBytes;
  }

  get isEmpty(): boolean {
    return this.#runsCount === 0;
  }

  add(run: Run): void {
    const head = this.#runs.push(this.#heads.get(run.ledgerId) ?? -1, run.firstEntryId, run.firstEntryId + run.count - 1);
    this.#heads.set(run.ledgerId, head);
    this.#reserve(head, run.count + 1);
    this.#at[head] = this.#positionsCount;
    this.#positions.set(run.positions.subarray(run.at, run.at + run.count + 1), this.#positionsCount);
    this.#positionsCount += run.count + 1;
    this.#runsCount++;
  }

  find(ledgerId: number, entryId: number): Run | undefined {
    const node = this.#runs.find(this.#heads.get(ledgerId) ?? -1, entryId);
    return node < 0 ? undefined : this.#runOf(ledgerId, node);
  }

  lastId(ledgerId: number): number {
    return this.#runs.lastId(this.#heads.get(ledgerId) ?? -1);
  }

  /** Ascending. */
  ledgerIds(): Float64Array {
    return Float64Array.from(this.#heads.keys()).sort();
  }

  /** The runs of a ledger, ascending and apart: of an entry that was written twice the newest place. */
  runsOf(ledgerId: number): Run[] {
    const head = this.#heads.get(ledgerId) ?? -1;
    const runs = this.#runs.oldestFirst(head).map((node) => this.#runOf(ledgerId, node));
    return this.#runs.isAscending(head) ? runs : withoutOverlaps(ledgerId, runs);
  }

  #runOf(ledgerId: number, node: number): Run {
    const firstEntryId = this.#runs.first(node);
    const count = this.#runs.last(node) - firstEntryId + 1;
    return { ledgerId, firstEntryId, count, positions: this.#positions, at: this.#at[node] as number };
  }

  #reserve(node: number, positions: number): void {
    if (node >= this.#at.length) this.#at = grown(this.#at, new Uint32Array(Math.max(64, node * 2)));
    const needed = this.#positionsCount + positions;
    if (needed > this.#positions.length) this.#positions = grown(this.#positions, new Uint32Array(Math.max(1024, Math.ceil(needed * 1.5))));
  }
}

/** Splits runs, oldest first, into runs of entries that are still the newest of their id. */
function withoutOverlaps(ledgerId: number, runs: readonly Run[]): Run[] {
  const newest = new Map<number, { run: Run; index: number }>();
  for (const run of runs) for (let index = 0; index < run.count; index++) newest.set(run.firstEntryId + index, { run, index });
  const out: Run[] = [];
  let previous: { run: Run; index: number } | undefined;
  for (const id of Float64Array.from(newest.keys()).sort()) {
    const place = newest.get(id) as { run: Run; index: number };
    const current = out.at(-1);
    if (current !== undefined && previous?.run === place.run && previous.index + 1 === place.index) current.count++;
    else out.push({ ledgerId, firstEntryId: id, count: 1, positions: place.run.positions, at: place.run.at + place.index });
    previous = place;
  }
  return out;
}

/** Sums up what a log holds of a ledger. */
export function ledgerRowOf(ledgerId: number, runs: readonly Run[]): LedgerRow {
  const first = runs[0] as Run;
  const last = runs.at(-1) as Run;
  const row = { ledgerId, firstEntryId: first.firstEntryId, lastEntryId: last.firstEntryId + last.count - 1, logBytes: 0, entriesCount: 0 };
  for (const { positions, at, count } of runs) {
    row.logBytes += (positions[at + count] as number) - (positions[at] as number);
    row.entriesCount += count;
  }
  return row;
}

/** Bytes of the frame or blocks that hold these runs, without headers. */
export function bytesOfRuns(runs: readonly Run[]): number {
  return runs.reduce((sum, run) => sum + runBytes(run.count), 0);
}
