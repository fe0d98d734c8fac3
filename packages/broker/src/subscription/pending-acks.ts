import { comparePositions, type Position } from '@daybook/proto';
import { PositionMap } from './position-map.js';

/** Messages given to one holder in one go. They share their deadline, so that nothing but a map entry is kept per message. */
export interface Handout<Holder> {
  readonly holder: Holder;
  /** When what is not acknowledged by then is taken back; undefined: never. */
  readonly deadlineMs: number | undefined;
  /** Kept only with a deadline; at most half of them are no longer outstanding. */
  positions: Position[];
  outstandingCount: number;
}

/** One holder's handouts, oldest first: its ack timeout is constant, so that is by deadline. */
interface Deadlines<Holder> {
  handouts: Handout<Holder>[];
  emptyCount: number;
}

/** Fewer empty handouts than this are not worth a pass. */
const emptyHandoutsMin = 64;

/**
 * Which messages of a subscription are outstanding, and who holds them. Pure bookkeeping: whoever removes something from here decides what becomes of it.
 */
export class PendingAcks<Holder> {
  readonly #held = new PositionMap<Handout<Holder>>();
  readonly #deadlines = new Map<Holder, Deadlines<Holder>>();

  get count(): number {
    return this.#held.size;
  }

  has(position: Position): boolean {
    return this.#held.has(position);
  }

  /** Begins a handout; then {@link add} each of its messages (at least one). */
  open(holder: Holder, deadlineMs: number | undefined): Handout<Holder> {
    const handout: Handout<Holder> = { holder, deadlineMs, positions: [], outstandingCount: 0 };
    if (deadlineMs !== undefined) {
      const own = this.#deadlines.get(holder);
      if (own === undefined) this.#deadlines.set(holder, { handouts: [handout], emptyCount: 0 });
      else own.handouts.push(handout);
    }
    return handout;
  }

  add(position: Position, handout: Handout<Holder>): void {
    this.#held.set(position, handout);
    handout.outstandingCount++;
    if (handout.deadlineMs !== undefined) handout.positions.push(position);
  }

  /** Ends the outstanding state of one message; returns who held it, or undefined when nobody did. */
  remove(position: Position): Holder | undefined {
    const handout = this.#held.delete(position);
    if (handout === undefined) return undefined;
    handout.outstandingCount--;
    if (handout.deadlineMs !== undefined) this.#tidy(handout);
    return handout.holder;
  }

  /** Takes back everything a holder has, in position order. */
  removeAllOf(holder: Holder): Position[] {
    const positions: Position[] = [];
    this.#held.forEach((position, handout) => {
      if (handout.holder === holder) positions.push(position);
    });
    for (const position of positions) this.#held.delete(position);
    this.#deadlines.delete(holder);
    return positions.sort(comparePositions);
  }

  /** Takes back what passed its deadline; `timedOut` is called per message and must not call back into this. */
  removeDue(nowMs: number, timedOut: (position: Position, holder: Holder) => void): void {
    for (const [holder, own] of this.#deadlines) {
      let done = 0;
      while (done < own.handouts.length && isOver(own.handouts[done]!, nowMs)) {
        const handout = own.handouts[done++]!;
        if (handout.outstandingCount === 0) own.emptyCount--;
        for (const position of handout.positions) {
          // It may have been given back and handed out again since: then the later deadline counts.
          if (this.#held.get(position) !== handout) continue;
          this.#held.delete(position);
          timedOut(position, holder);
        }
      }
      if (done === own.handouts.length) this.#deadlines.delete(holder);
      else if (done > 0) own.handouts.splice(0, done);
    }
  }

  /** The earliest deadline, or undefined when nothing has one. */
  get nextDeadlineMs(): number | undefined {
    let next: number | undefined;
    for (const own of this.#deadlines.values()) {
      const first = own.handouts.find((handout) => handout.outstandingCount > 0)?.deadlineMs;
      if (first !== undefined && (next === undefined || first < next)) next = first;
    }
    return next;
  }

  /** Keeps memory in proportion to what is outstanding, however long the ack timeout. */
  #tidy(handout: Handout<Holder>): void {
    if (handout.outstandingCount > 0) {
      if (handout.positions.length > 2 * handout.outstandingCount) {
        handout.positions = handout.positions.filter((position) => this.#held.get(position) === handout);
      }
      return;
    }
    handout.positions = [];
    const own = this.#deadlines.get(handout.holder);
    if (own === undefined) return;
    own.emptyCount++;
    if (own.emptyCount === own.handouts.length) this.#deadlines.delete(handout.holder);
    else if (own.emptyCount >= emptyHandoutsMin && own.emptyCount * 2 > own.handouts.length) {
      own.handouts = own.handouts.filter((one) => one.outstandingCount > 0);
      own.emptyCount = 0;
    }
  }
}

function isOver(handout: Handout<unknown>, nowMs: number): boolean {
  return handout.outstandingCount === 0 || (handout.deadlineMs !== undefined && handout.deadlineMs <= nowMs);
}
