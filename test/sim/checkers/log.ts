import type { Checker, History, LogPromises, Observation, Place } from '../history.js';
import type { Ledgers } from './ledgers.js';
import { decodeLogRecord } from './record-format.js';

interface Acknowledgement {
  /** `br1.2/3`: by the second life of br1, the third time it had the log. */
  readonly tenure: string;
  readonly place: Place;
  readonly atMs: number;
  /** Somebody else began to take the log over, or the broker died: from then on nobody can count on it becoming durable. */
  isOver: boolean;
}

/** Acknowledgements older than this are durable, says the broker. */
const ackDurableMs = 1_000;

/**
 * The promises of a log and its one cursor: what was acknowledged to publishers is there, once, at its place and in order; what consumers acknowledged stays
 * acknowledged once it is durable, and nothing else is; only the newest ledger of the chain is open (I20).
 */
export class Log implements Checker {
  readonly #history: History;
  readonly #ledgers: Ledgers;
  readonly #nowMs: () => number;
  /** Set when acknowledgements become durable in time: nothing but brokers fails. */
  isCalm = false;
  readonly #textAt = new Map<string, string>();
  readonly #placeOf = new Map<string, string>();
  readonly #appended = new Map<string, Place>();
  readonly #lastOf = new Map<string, Place>();
  readonly #acked = new Map<string, Acknowledgement[]>();
  /** Those that nobody has begun to end. */
  readonly #tenures = new Set<string>();
  readonly #durable = new Map<string, Place>();
  #newest: Place = { ledgerId: -1, entryId: -1 };

  constructor(history: History, ledgers: Ledgers, nowMs: () => number) {
    this.#history = history;
    this.#ledgers = ledgers;
    this.#nowMs = nowMs;
  }

  /** What was acknowledged so far while one broker had the log, for telling that it was flushed. */
  ackedIn(tenure: string): readonly Place[] {
    return [...this.#acked.values()].flat().flatMap((ack) => (ack.tenure === tenure ? [ack.place] : []));
  }

  promises(): LogPromises {
    return { newest: this.#newest, durable: [...this.#durable.values()] };
  }

  /** A broker is gone: what it acknowledged in time must have been stored. */
  brokerGone(broker: string): void {
    this.#becomeDurable((ack) => ack.tenure.startsWith(`${broker}/`));
  }

  observe(seen: Observation): void {
    switch (seen.kind) {
      case 'record':
        if (/^\/managed-ledgers\/.*\/persistent\/[^/]+$/.test(seen.path) && seen.value !== undefined && seen.value.length > 0)
          this.#chain(seen.path, seen.value);
        break;
      case 'log appended':
        this.#wasAppended(seen);
        break;
      case 'log read':
        this.#isAt(seen.broker, seen.text, seen.position);
        break;
      case 'log opening':
        for (const tenure of this.#tenures) if (!tenure.startsWith(`${seen.broker}/`)) this.#tenures.delete(tenure);
        this.#becomeDurable((ack) => !ack.tenure.startsWith(`${seen.broker}/`));
        break;
      case 'log opened':
        this.#tenures.add(seen.tenure);
        if (compare(seen.lastConfirmed, seen.before.newest) < 0) {
          this.#history.violate(
            'log',
            `${seen.broker} opened the log at ${show(seen.lastConfirmed)}, but ${show(seen.before.newest)} was acknowledged`,
          );
        }
        break;
      case 'cursor acked': {
        const key = show(seen.position);
        const acks = this.#acked.get(key) ?? [];
        acks.push({ tenure: seen.tenure, place: seen.position, atMs: this.#nowMs(), isOver: !this.#tenures.has(seen.tenure) });
        this.#acked.set(key, acks);
        break;
      }
      case 'cursor flushed':
        for (const place of seen.flushed) this.#durable.set(show(place), place);
        break;
      case 'cursor opened':
        this.#checkCursor(seen);
        break;
      case 'log complete':
        this.#checkAll(seen);
        break;
      default:
        break;
    }
  }

  #chain(path: string, value: Buffer): void {
    const chain = decodeLogRecord(value);
    for (const [index, ledgerId] of chain.entries()) {
      if (index > 0 && ledgerId <= (chain[index - 1] as number))
        this.#history.violate('I20', `${path}: ledger ${ledgerId} is out of order in ${chain.join(',')}`);
      const state = this.#ledgers.get(ledgerId).record?.state;
      if (index < chain.length - 1 && state !== undefined && state !== 'CLOSED') {
        this.#history.violate('I20', `${path}: ledger ${ledgerId} is ${state}, but not the last of ${chain.join(',')}`);
      }
    }
  }

  #wasAppended({ broker, text, ledgerId, entryId }: Extract<Observation, { kind: 'log appended' }>): void {
    const place = { ledgerId, entryId };
    this.#isAt(broker, text, place);
    const before = this.#lastOf.get(broker);
    if (before !== undefined && compare(place, before) <= 0)
      this.#history.violate('log', `${broker}: ${show(place)} was answered after ${show(before)}`);
    this.#lastOf.set(broker, place);
    this.#appended.set(show(place), place);
    if (compare(place, this.#newest) > 0) this.#newest = place;
  }

  /** A text is at one place, and a place has one text, for ever. */
  #isAt(broker: string, text: string, place: Place): void {
    const key = show(place);
    const known = this.#textAt.get(key);
    if (known !== undefined && known !== text) this.#history.violate('log', `${broker}: at ${key} is ${text}, but it was ${known}`);
    const other = this.#placeOf.get(text);
    if (other !== undefined && other !== key) this.#history.violate('log', `${broker}: ${text} is at ${key} and at ${other}`);
    this.#textAt.set(key, text);
    this.#placeOf.set(text, key);
  }

  #becomeDurable(of: (ack: Acknowledgement) => boolean): void {
    if (!this.isCalm) return;
    const oldMs = this.#nowMs() - ackDurableMs;
    for (const acks of this.#acked.values()) {
      for (const ack of acks) {
        if (ack.isOver || !of(ack)) continue;
        ack.isOver = true;
        if (ack.atMs <= oldMs) this.#durable.set(show(ack.place), ack.place);
      }
    }
  }

  #checkCursor({ broker, mark, before, isAcknowledged }: Extract<Observation, { kind: 'cursor opened' }>): void {
    for (const place of before.durable) {
      if (!isAcknowledged(place.ledgerId, place.entryId)) {
        this.#history.violate('cursor', `${broker}: the acknowledgement of ${show(place)} was durable and is undone; the mark is ${show(mark)}`);
      }
    }
    for (const [key, place] of this.#appended) {
      if (isAcknowledged(place.ledgerId, place.entryId) && !this.#acked.has(key)) {
        this.#history.violate('cursor', `${broker}: ${key} counts as acknowledged, but nobody did; the mark is ${show(mark)}`);
      }
    }
  }

  #checkAll({ beforeFirst, entries }: Extract<Observation, { kind: 'log complete' }>): void {
    const found = new Set(entries.map(({ position }) => show(position)));
    for (let i = 1; i < entries.length; i++) {
      const [before, after] = [entries[i - 1], entries[i]] as [{ position: Place }, { position: Place }];
      if (compare(after.position, before.position) <= 0)
        this.#history.violate('log', `${show(after.position)} was read after ${show(before.position)}`);
    }
    for (const [key, place] of this.#appended) {
      if (found.has(key)) continue;
      if (compare(place, beforeFirst) > 0) this.#history.violate('log', `${key} (${this.#textAt.get(key)}) was acknowledged and is not in the log`);
      else if (!this.#acked.has(key)) this.#history.violate('log', `${key} was trimmed, but nobody had consumed it`);
    }
  }
}

function compare(a: Place, b: Place): number {
  return a.ledgerId - b.ledgerId || a.entryId - b.entryId;
}

function show({ ledgerId, entryId }: Place): string {
  return `${ledgerId}:${entryId}`;
}
