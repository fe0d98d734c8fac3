import type { LedgerMetadata } from '@daybook/proto';
import type { TinyWorld } from './explore.js';
import { type Message, TinyBookie, textOf } from './tiny-bookie.js';
import { type Choice, type ProtocolOptions, placesIn, type TinyNet } from './tiny-net.js';
import { TinyRecoverer } from './tiny-recoverer.js';
import { TinyWriter } from './tiny-writer.js';

/** A writer or a recoverer. */
interface Client {
  readonly isEnded: boolean;
  heard(message: Message): void;
  /** Whether the answer still matters. */
  awaits(message: Message): boolean;
  choices(): Choice[];
}

/** One ledger, its writer and those who recover it, over the real state machines; every message waits until it is chosen. */
export class ProtocolWorld implements TinyWorld, TinyNet {
  readonly options: ProtocolOptions;
  /** Shared with the worlds this one was made of; whoever changes one puts a copy in its place. */
  bookies: readonly TinyBookie[];
  readonly writer: TinyWriter;
  readonly recoverers: readonly TinyRecoverer[];
  record: LedgerMetadata;
  version = 0;
  violation: string | undefined;
  #messages: Message[] = [];
  #timeouts = 0;
  #amnesias = 0;
  #acknowledged = -1;
  #choices: Choice[] | undefined;

  constructor(options: ProtocolOptions, from?: ProtocolWorld) {
    this.options = options;
    if (from !== undefined) {
      this.bookies = from.bookies;
      this.record = from.record;
      this.version = from.version;
      this.violation = from.violation;
      this.#messages = from.#messages.slice();
      this.#timeouts = from.#timeouts;
      this.#amnesias = from.#amnesias;
      this.#acknowledged = from.#acknowledged;
      this.writer = from.writer.clone(this);
      this.recoverers = from.recoverers.map((recoverer) => recoverer.clone(this));
      return;
    }
    this.bookies = Array.from({ length: options.bookiesCount }, (_, i) => new TinyBookie(`b${i}`));
    const { ensembleSize, writeQuorumSize, ackQuorumSize } = options;
    const ensemble = this.bookies.slice(0, ensembleSize).map((bookie) => bookie.id);
    this.record = {
      ensembleSize,
      writeQuorumSize,
      ackQuorumSize,
      state: 'OPEN',
      segments: [{ firstEntryId: 0, ensemble }],
      lastEntryId: -1,
      length: 0,
    } as unknown as LedgerMetadata;
    this.writer = new TinyWriter(this);
    this.recoverers = Array.from({ length: options.recoverersCount }, (_, i) => new TinyRecoverer(this, `r${i}`));
  }

  clone(): ProtocolWorld {
    return new ProtocolWorld(this.options, this);
  }

  choicesCount(): number {
    this.#choices ??= this.#possible();
    return this.#choices.length;
  }

  describe(index: number): string {
    return (this.#possible()[index] as Choice).text();
  }

  take(index: number): void {
    const choice = (this.#choices ?? this.#possible())[index] as Choice;
    this.#choices = undefined;
    choice.run();
    this.#check();
  }

  /** Which bookie is which does not matter: each has a text of its own, and these are sorted. */
  fingerprint(): string {
    const clients = [this.writer, ...this.recoverers];
    const bookies = this.bookies.map((bookie) => {
      const messages = this.#messages.filter((message) => message.bookie === bookie.id).map((message) => textOf(message));
      return `${bookie.fingerprint()}${placesIn(this.record, bookie.id)}${clients.map((client) => client.viewOf(bookie.id)).join(';')}${messages.sort().join('|')}`;
    });
    const { state, lastEntryId } = this.record;
    const own = clients.map((client) => client.fingerprint()).join(';');
    return `${state}${lastEntryId}.${this.version}.${this.#timeouts}.${this.#amnesias}.${own}#${bookies.sort().join('#')}`;
  }

  send(message: Message): void {
    this.#messages.push(message);
  }

  write(metadata: LedgerMetadata, expected: number): number | undefined {
    if (expected !== this.version && this.options.defect !== 'no compare-and-set') return undefined;
    const before = this.record;
    if (before.state === 'CLOSED' && (metadata.state !== 'CLOSED' || metadata.lastEntryId !== before.lastEntryId))
      this.violate(`I7: closed at ${before.lastEntryId}, now ${metadata.state} ${metadata.lastEntryId}`);
    this.record = metadata;
    if (metadata.state === 'CLOSED' && before.state !== 'CLOSED') this.#checkClosed();
    return ++this.version;
  }

  violate(text: string): void {
    this.violation ??= text;
  }

  #possible(): Choice[] {
    const choices: Choice[] = [];
    const clients = [this.writer, ...this.recoverers];
    if (clients.every((client) => client.isEnded)) return choices;
    for (const [place, message] of this.#messages.entries()) {
      // Appends of one sender to one bookie keep their order.
      if (message.kind === 'append' && this.#hasEarlier(place, message)) continue;
      choices.push({
        text: () => `${message.bookie} ${message.reply === undefined ? '<' : '>'} ${textOf(message)}`,
        run: () => this.#deliver(message),
      });
      if (message.reply !== undefined || message.isGivenUp === true || this.#timeouts >= this.options.timeoutsMax) continue;
      if (this.#clientOf(message).awaits(message))
        choices.push({ text: () => `given up: ${message.bookie} < ${textOf(message)}`, run: () => this.#giveUp(message) });
    }
    for (const client of clients) for (const choice of client.choices()) choices.push(choice);
    if (this.#amnesias < this.options.amnesiasMax) {
      for (const bookie of this.bookies)
        if (!bookie.isLimbo) choices.push({ text: () => `${bookie.id} loses what it had`, run: () => this.#forget(bookie) });
    }
    return choices;
  }

  #hasEarlier(place: number, message: Message): boolean {
    for (let before = 0; before < place; before++) if (isSameStream(this.#messages[before] as Message, message)) return true;
    return false;
  }

  #deliver(message: Message): void {
    this.#messages = this.#messages.filter((other) => other !== message);
    const client = this.#clientOf(message);
    if (message.reply === undefined) {
      const reply = this.#changing(message.bookie).serve(message, this.options);
      if (message.isGivenUp !== true) this.#messages.push({ ...message, reply });
    } else client.heard(message);
    this.#tidy();
  }

  /** Its sender hears nothing; it may still arrive, or never. */
  #giveUp(message: Message): void {
    this.#timeouts++;
    this.#messages = this.#messages.map((other) => (other === message ? { ...message, isGivenUp: true } : other));
    this.#clientOf(message).heard({ ...message, reply: { code: 'TIMEOUT' } });
    this.#tidy();
  }

  /** Answers nobody waits for change nothing. */
  #tidy(): void {
    this.#messages = this.#messages.filter((message) => message.reply === undefined || this.#clientOf(message).awaits(message));
  }

  #forget(bookie: TinyBookie): void {
    this.#amnesias++;
    this.#changing(bookie.id).forget(this.options.defect !== 'amnesia without limbo');
  }

  /** An own copy of a bookie. */
  #changing(id: string): TinyBookie {
    const place = this.bookies.findIndex((bookie) => bookie.id === id);
    const copy = (this.bookies[place] as TinyBookie).clone();
    this.bookies = this.bookies.with(place, copy);
    return copy;
  }

  #clientOf(message: Message): Client {
    return this.recoverers.find(({ name }) => name === message.from) ?? this.writer;
  }

  #check(): void {
    const { confirmed } = this.writer;
    for (let entryId = this.#acknowledged + 1; entryId <= confirmed; entryId++) {
      this.#acknowledged = entryId;
      const copies = this.#copies(entryId);
      if (copies < this.options.ackQuorumSize) this.violate(`I3: entry ${entryId} acknowledged with ${copies} copies`);
      if (this.record.state === 'CLOSED' && this.record.lastEntryId < entryId)
        this.violate(`I6: entry ${entryId} acknowledged, closed at ${this.record.lastEntryId}`);
      if (this.recoverers.some((recoverer) => recoverer.absent.has(entryId)))
        this.violate(`I11: entry ${entryId} acknowledged after a recoverer ruled it absent`);
    }
  }

  #checkClosed(): void {
    const { lastEntryId, segments } = this.record;
    if (lastEntryId < this.#acknowledged) this.violate(`I6: closed at ${lastEntryId}, ${this.#acknowledged} was acknowledged`);
    if (this.options.amnesiasMax > 0) return;
    for (let entryId = 0; entryId <= lastEntryId; entryId++) {
      const copies = this.#copies(entryId);
      if (copies < this.options.ackQuorumSize)
        this.violate(`I4: closed at ${lastEntryId}, entry ${entryId} has ${copies} copies by ${JSON.stringify(segments)}`);
    }
  }

  #copies(entryId: number): number {
    const segment = this.record.segments.findLast(({ firstEntryId }) => firstEntryId <= entryId);
    return this.bookies.filter(({ id, everHeld }) => segment?.ensemble.includes(id) === true && everHeld.has(entryId)).length;
  }
}

function isSameStream(a: Message, b: Message): boolean {
  return a.kind === 'append' && a.from === b.from && a.bookie === b.bookie && (a.reply === undefined) === (b.reply === undefined);
}
