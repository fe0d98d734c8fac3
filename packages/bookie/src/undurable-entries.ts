import type { AppendBatch, LedgerId } from '@daybook/proto';

interface Ids {
  readonly first: number;
  readonly last: number;
}

/** Of one ledger: token, first and last id of each batch, in the order they were handed over, from `start` on. Numbers only, as there is one for each batch. */
interface Batches {
  ranges: number[];
  start: number;
  /** Ids ascend from batch to batch and none was refused: then the journal answers the first one next, and nothing else tells of its entries. */
  isPlain: boolean;
}

const perBatch = 3;
/** So much room in front is left before the rest is moved up. */
const slackMax = 64 * perBatch;

/**
 * Entries that can be read (they are in the write cache) but may be gone after a crash: on their way to the journal, or refused by it because the disk is full.
 * Whoever counts copies must not be told of them. By batch, from its first id to its last, so that a little more is held back rather than less.
 */
export class UndurableEntries {
  readonly #byLedger = new Map<LedgerId, Batches>();
  #lastToken = 0;

  /** Handed to the journal. Pass what it returns to {@link settled}. */
  handed(batch: AppendBatch): number {
    const token = ++this.#lastToken;
    const first = batch.entryIdAt(0);
    const last = batch.entryIdAt(batch.count - 1);
    const batches = this.#byLedger.get(batch.ledgerId);
    if (batches === undefined) {
      this.#byLedger.set(batch.ledgerId, { ranges: [token, first, last], start: 0, isPlain: true });
      return token;
    }
    if (first <= (batches.ranges.at(-1) as number)) batches.isPlain = false;
    batches.ranges.push(token, first, last);
    return token;
  }

  /** The journal has answered. What it refused stays here until the same entries come again and get through. */
  settled(ledgerId: LedgerId, token: number, isDurable: boolean): void {
    const batches = this.#byLedger.get(ledgerId);
    if (batches === undefined) return;
    if (!isDurable) batches.isPlain = false;
    else if (batches.isPlain && batches.ranges[batches.start] === token) this.#dropFirst(ledgerId, batches);
    else this.#drop(ledgerId, batches, token);
  }

  #dropFirst(ledgerId: LedgerId, batches: Batches): void {
    batches.start += perBatch;
    if (batches.start === batches.ranges.length) {
      this.#byLedger.delete(ledgerId);
    } else if (batches.start >= slackMax) {
      batches.ranges.splice(0, batches.start);
      batches.start = 0;
    }
  }

  /** The batch, and every other one all of whose entries are durable with it. */
  #drop(ledgerId: LedgerId, batches: Batches, token: number): void {
    const all = [...rangesOf(batches)];
    const durable = all.find((one) => one.token === token);
    if (durable === undefined) return;
    const left = all.filter((one) => one.first < durable.first || one.last > durable.last);
    if (left.length === 0) this.#byLedger.delete(ledgerId);
    batches.ranges = left.flatMap(({ token: other, first, last }) => [other, first, last]);
    batches.start = 0;
  }

  /** `runs` (ascending and apart) without these entries. */
  without(ledgerId: LedgerId, runs: readonly Ids[]): Ids[] {
    let left = [...runs];
    const batches = this.#byLedger.get(ledgerId);
    for (const ids of batches === undefined ? [] : rangesOf(batches)) {
      left = left.flatMap(({ first, last }) => [
        ...(first < ids.first ? [{ first, last: Math.min(last, ids.first - 1) }] : []),
        ...(last > ids.last ? [{ first: Math.max(first, ids.last + 1), last }] : []),
      ]);
    }
    return left;
  }
}

function* rangesOf({ ranges, start }: Batches): Generator<Ids & { token: number }> {
  for (let at = start; at < ranges.length; at += perBatch) {
    yield { token: ranges[at] as number, first: ranges[at + 1] as number, last: ranges[at + 2] as number };
  }
}
