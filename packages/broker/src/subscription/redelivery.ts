import { comparePositions, entryId, type Position } from '@daybook/proto';
import { PositionMap } from './position-map.js';

interface Waiting<Owner> {
  readonly position: Position;
  readonly tick: number;
  /** The consumer that gave it back, while it is connected: its statistics still count the message. */
  owner: Owner | undefined;
}

/** Messages with neighbouring ids that can be read in one go. */
export interface RedeliveryRun {
  readonly first: Position;
  readonly count: number;
}

/** Those of a run that a read from its start passed over: they exist no more. An empty answer says so of the first. */
export function missingOf(run: RedeliveryRun, entries: readonly { readonly position: Position }[]): Position[] {
  if (entries.length === 0) return [run.first];
  const missing: Position[] = [];
  let at = 0;
  for (let offset = 0; offset < run.count && at < entries.length; offset++) {
    const position: Position = { ledgerId: run.first.ledgerId, entryId: entryId(run.first.entryId + offset) };
    if (comparePositions(entries[at]!.position, position) === 0) at++;
    else missing.push(position);
  }
  return missing;
}

/**
 * Messages that were delivered and have to come again: at once (`ready`, in position order) or at a time (`waiting`). Also how often each was
 * given back. In memory only: after a reload of the topic counts begin at 0. Pure: the time is an argument.
 *
 * Times are rounded up to a tick, so nothing is early and everything due within one tick shares one timer call.
 */
export class Redelivery<Owner> {
  readonly #tickMs: number;
  readonly #counts = new PositionMap<number>();
  readonly #waiting = new PositionMap<Waiting<Owner>>();
  /** By tick; `#ticks` holds its keys, ascending. */
  readonly #byTick = new Map<number, { readonly entries: Waiting<Owner>[]; waitingCount: number }>();
  #ticks: number[] = [];
  readonly #ready = new PositionMap<true>();
  /** The ready ones ascending from `#head`, plus some that were acknowledged meanwhile; unsorted while `#isDirty`. */
  #queue: Position[] = [];
  #head = 0;
  #isDirty = false;

  constructor(tickMs: number) {
    this.#tickMs = tickMs;
  }

  /** Delivered before and not acknowledged: ready or waiting. */
  get count(): number {
    return this.#ready.size + this.#waiting.size;
  }

  get readyCount(): number {
    return this.#ready.size;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** False when no message that is still unacknowledged was ever given back: then there is nothing to look up. */
  get isTracking(): boolean {
    return this.#counts.size > 0;
  }

  isReady(position: Position): boolean {
    return this.#ready.has(position);
  }

  /** How often a message was given back, by a negative ack, a timeout or the end of its consumer. */
  countOf(position: Position): number {
    return this.#counts.size === 0 ? 0 : (this.#counts.get(position) ?? 0);
  }

  /** The message comes again as soon as somebody has room. */
  returnNow(position: Position): void {
    this.#countUp(position);
    this.#makeReady(position);
  }

  /** The message comes again at `dueMs` or up to a tick later. */
  returnAt(position: Position, dueMs: number, owner: Owner): void {
    this.#countUp(position);
    const tick = Math.ceil(dueMs / this.#tickMs);
    const entry: Waiting<Owner> = { position, tick, owner };
    this.#waiting.set(position, entry);
    const bucket = this.#byTick.get(tick);
    if (bucket !== undefined) {
      bucket.entries.push(entry);
      bucket.waitingCount++;
      return;
    }
    this.#byTick.set(tick, { entries: [entry], waitingCount: 1 });
    let at = this.#ticks.length;
    while (at > 0 && this.#ticks[at - 1]! > tick) at--;
    this.#ticks.splice(at, 0, tick);
  }

  /** When the next waiting message is due. */
  get nextDueMs(): number | undefined {
    const tick = this.#ticks[0];
    return tick === undefined ? undefined : tick * this.#tickMs;
  }

  /** Makes ready what is due; `released` is called for each that still has an owner. */
  release(nowMs: number, released: (owner: Owner) => void): void {
    let done = 0;
    while (done < this.#ticks.length && this.#ticks[done]! * this.#tickMs <= nowMs) {
      const tick = this.#ticks[done++]!;
      for (const entry of this.#byTick.get(tick)!.entries) {
        if (this.#waiting.get(entry.position) !== entry) continue;
        this.#waiting.delete(entry.position);
        this.#makeReady(entry.position);
        if (entry.owner !== undefined) released(entry.owner);
      }
      this.#byTick.delete(tick);
    }
    if (done > 0) this.#ticks.splice(0, done);
  }

  /** The message was acknowledged. Returns the owner it was waiting for, if any. */
  forget(position: Position): Owner | undefined {
    this.#counts.delete(position);
    this.#ready.delete(position);
    const entry = this.#waiting.delete(position);
    if (entry === undefined) return undefined;
    // Its bucket goes when the last one of it does, so that no timer is kept for nothing.
    const bucket = this.#byTick.get(entry.tick)!;
    if (--bucket.waitingCount === 0) {
      this.#byTick.delete(entry.tick);
      this.#ticks = this.#ticks.filter((tick) => tick !== entry.tick);
    }
    return entry.owner;
  }

  /** The consumer is gone; what it gave back keeps its time. */
  disown(owner: Owner): void {
    if (this.#waiting.size === 0) return;
    this.#waiting.forEach((_, entry) => {
      if (entry.owner === owner) entry.owner = undefined;
    });
  }

  /** The first ready message and those that follow it without a gap, at most `countMax`. */
  firstRun(countMax: number): RedeliveryRun | undefined {
    const first = this.#first();
    if (first === undefined) return undefined;
    let count = 1;
    while (count < countMax && this.#ready.has({ ledgerId: first.ledgerId, entryId: entryId(first.entryId + count) })) count++;
    return { first, count };
  }

  /** Removes a ready message because it goes out (or no longer exists); false when it was not ready. The count stays. */
  take(position: Position): boolean {
    return this.#ready.delete(position) === true;
  }

  #countUp(position: Position): void {
    this.#counts.set(position, (this.#counts.get(position) ?? 0) + 1);
  }

  #makeReady(position: Position): void {
    const last = this.#queue.at(-1);
    if (last !== undefined && this.#queue.length > this.#head && comparePositions(last, position) > 0) this.#isDirty = true;
    this.#ready.set(position, true);
    this.#queue.push(position);
  }

  #first(): Position | undefined {
    if (this.#isDirty) {
      this.#queue = this.#queue.slice(this.#head).filter((position) => this.#ready.has(position));
      this.#queue.sort(comparePositions);
      this.#head = 0;
      this.#isDirty = false;
    }
    while (this.#head < this.#queue.length && !this.#ready.has(this.#queue[this.#head]!)) this.#head++;
    if (this.#head === this.#queue.length || this.#head > 1024) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
    return this.#queue[this.#head];
  }
}
