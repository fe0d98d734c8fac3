import type { TinyWorld } from './explore.js';

export interface ChainOptions {
  readonly brokersCount: number;
  /** Of each broker, in all its times with the log. */
  readonly appendsMax: number;
  readonly rolloversMax: number;
  /** How often a broker may open the log. */
  readonly opensMax: number;
  readonly defect?: 'opens without recovery' | 'list without compare-and-set' | 'serves before the list is changed';
}

/** A ledger as a whole: what its bookies and its record promise together (protocol-world.ts tries that). */
interface Ledger {
  readonly state: 'OPEN' | 'IN_RECOVERY' | 'CLOSED';
  /** Entries that are stored, or that there are for ever. */
  readonly count: number;
}

type Phase = 'away' | 'fencing' | 'closing' | 'creating' | 'listing' | 'serving' | 'rolling' | 'asking';

interface Broker {
  readonly phase: Phase;
  /** The list as it was read, and its version. */
  readonly chain: readonly number[];
  readonly version: number;
  /** That it writes, or will. */
  readonly ledger: number;
  readonly acknowledged: number;
  /** Appends that have not arrived, and answers that have not. */
  readonly sent: number;
  readonly answers: readonly ('OK' | 'FENCED')[];
  readonly opens: number;
  readonly appends: number;
  readonly rollovers: number;
}

interface State {
  readonly ledgers: readonly Ledger[];
  readonly chain: readonly number[];
  readonly version: number;
  readonly brokers: readonly Broker[];
}

interface Step {
  readonly text: string;
  readonly next: () => State;
}

const away: Omit<Broker, 'opens' | 'appends' | 'rollovers'> = {
  phase: 'away',
  chain: [],
  version: 0,
  ledger: -1,
  acknowledged: 0,
  sent: 0,
  answers: [],
};

/**
 * A log as a chain of ledgers, and brokers that take it from each other: the order of steps in open-log.ts and ledger-switch.ts, every message and every write
 * of metadata by itself. Only the newest ledger may be open (I20), and nothing may be stored in one after the log goes on in another.
 */
export class ChainWorld implements TinyWorld {
  readonly #options: ChainOptions;
  #state: State;
  #steps: Step[] | undefined;
  violation: string | undefined;

  constructor(options: ChainOptions, state?: State) {
    this.#options = options;
    const broker: Broker = { ...away, opens: 0, appends: 0, rollovers: 0 };
    this.#state = state ?? { ledgers: [], chain: [], version: 0, brokers: Array.from({ length: options.brokersCount }, () => broker) };
  }

  clone(): ChainWorld {
    return new ChainWorld(this.#options, this.#state);
  }

  choicesCount(): number {
    return this.#possible().length;
  }

  describe(index: number): string {
    return (this.#possible()[index] as Step).text;
  }

  take(index: number): void {
    const step = this.#possible()[index] as Step;
    this.#steps = undefined;
    this.#state = step.next();
  }

  fingerprint(): string {
    const { brokers, ...rest } = this.#state;
    // Which broker is which does not matter.
    return JSON.stringify(rest) + brokers.map((broker) => JSON.stringify(broker)).sort();
  }

  #possible(): Step[] {
    this.#steps ??= this.#state.brokers.flatMap((broker, place) => [...this.#messages(broker, place), ...this.#own(broker, place)]);
    return this.#steps;
  }

  #messages(broker: Broker, place: number): Step[] {
    const steps: Step[] = [];
    if (broker.sent > 0) steps.push({ text: `an append of ${place} arrives at ledger ${broker.ledger}`, next: () => this.#arrive(broker, place) });
    if (broker.answers.length > 0) steps.push({ text: `${place} hears ${broker.answers[0]}`, next: () => this.#hear(broker, place) });
    return steps;
  }

  #own(broker: Broker, place: number): Step[] {
    const { opensMax, appendsMax, rolloversMax, defect } = this.#options;
    const { phase } = broker;
    const step = (text: string, next: () => State): Step => ({ text: `${place} ${text}`, next });
    switch (phase) {
      case 'away':
        return broker.opens < opensMax ? [step('reads the list', () => this.#read(broker, place))] : [];
      case 'fencing':
        return [step('fences the last ledger', () => this.#fence(broker, place))];
      case 'closing':
        return [step('closes the last ledger', () => this.#close(broker, place))];
      case 'creating':
        return [step('creates a ledger', () => this.#create(broker, place))];
      case 'listing':
        return [step('changes the list', () => this.#list(broker, place))];
      case 'asking':
        return [step('asks whether the log is still its own', () => this.#ask(broker, place))];
      case 'serving':
      case 'rolling': {
        const mayServe = phase === 'serving' || defect === 'serves before the list is changed';
        return [
          ...(mayServe && broker.appends < appendsMax ? [step('appends', () => this.#append(broker, place))] : []),
          ...(phase === 'serving' && broker.rollovers < rolloversMax ? [step('closes its own ledger', () => this.#roll(broker, place))] : []),
          ...(phase === 'rolling' ? [step('changes the list', () => this.#list(broker, place))] : []),
          step('forgets the log', () => this.#with(place, { ...broker, ...away })),
        ];
      }
    }
  }

  #with(place: number, broker: Broker, change: Partial<State> = {}): State {
    return { ...this.#state, ...change, brokers: this.#state.brokers.with(place, broker) };
  }

  #withLedger(ledgerId: number, ledger: Ledger): { ledgers: readonly Ledger[] } {
    return { ledgers: this.#state.ledgers.with(ledgerId, ledger) };
  }

  #ledger(ledgerId: number): Ledger {
    return this.#state.ledgers[ledgerId] as Ledger;
  }

  #read(broker: Broker, place: number): State {
    const { chain, version } = this.#state;
    const phase = chain.length === 0 || this.#options.defect === 'opens without recovery' ? 'creating' : 'fencing';
    return this.#with(place, { ...broker, ...away, phase, chain, version, opens: broker.opens + 1 });
  }

  #fence(broker: Broker, place: number): State {
    const last = broker.chain.at(-1) as number;
    const ledger = this.#ledger(last);
    const fenced: Ledger = ledger.state === 'CLOSED' ? ledger : { ...ledger, state: 'IN_RECOVERY' };
    return this.#with(place, { ...broker, phase: 'closing' }, this.#withLedger(last, fenced));
  }

  #close(broker: Broker, place: number): State {
    const last = broker.chain.at(-1) as number;
    return this.#with(place, { ...broker, phase: 'creating' }, this.#withLedger(last, { ...this.#ledger(last), state: 'CLOSED' }));
  }

  #create(broker: Broker, place: number): State {
    const { ledgers } = this.#state;
    const created = { ledgers: [...ledgers, { state: 'OPEN', count: 0 } as const] };
    const phase = this.#options.defect === 'serves before the list is changed' ? 'rolling' : 'listing';
    return this.#with(place, { ...broker, phase, ledger: ledgers.length, acknowledged: 0, sent: 0, answers: [] }, created);
  }

  /** By compare-and-set: somebody else's change means that the log is his. */
  #list(broker: Broker, place: number): State {
    const { version } = this.#state;
    if (version !== broker.version && this.#options.defect !== 'list without compare-and-set') return this.#with(place, { ...broker, ...away });
    const chain = [...broker.chain, broker.ledger];
    for (const ledgerId of chain.slice(0, -1)) {
      if (this.#ledger(ledgerId).state !== 'CLOSED')
        this.violation ??= `I20: ledger ${ledgerId} is ${this.#ledger(ledgerId).state}, but not the last of ${chain}`;
    }
    for (const ledgerId of this.#state.chain)
      if (!chain.includes(ledgerId)) this.violation ??= `I20: ledger ${ledgerId} got lost: ${this.#state.chain} is now ${chain}`;
    return this.#with(place, { ...broker, phase: 'serving', chain, version: version + 1 }, { chain, version: version + 1 });
  }

  #append(broker: Broker, place: number): State {
    return this.#with(place, { ...broker, sent: broker.sent + 1, appends: broker.appends + 1 });
  }

  #arrive(broker: Broker, place: number): State {
    const ledger = this.#ledger(broker.ledger);
    const isOpen = ledger.state === 'OPEN';
    const heard = { ...broker, sent: broker.sent - 1, answers: [...broker.answers, isOpen ? ('OK' as const) : ('FENCED' as const)] };
    if (!isOpen) return this.#with(place, heard);
    const { chain } = this.#state;
    if (chain.at(-1) !== broker.ledger) this.violation ??= `I20: an entry is stored in ledger ${broker.ledger}, but the log is ${chain}`;
    return this.#with(place, heard, this.#withLedger(broker.ledger, { ...ledger, count: ledger.count + 1 }));
  }

  #hear(broker: Broker, place: number): State {
    const [answer, ...answers] = broker.answers;
    if (answer === 'FENCED') return this.#with(place, { ...broker, ...away });
    const acknowledged = broker.acknowledged + 1;
    const { state, count } = this.#ledger(broker.ledger);
    if (state === 'CLOSED' && count < acknowledged)
      this.violation ??= `I6: ledger ${broker.ledger} is closed at ${count}, ${acknowledged} are acknowledged`;
    return this.#with(place, { ...broker, answers, acknowledged });
  }

  /** By its writer, at what it has heard of; another one's change of the record makes it ask. */
  #roll(broker: Broker, place: number): State {
    const rolled = { ...broker, rollovers: broker.rollovers + 1 };
    if (this.#ledger(broker.ledger).state !== 'OPEN') return this.#with(place, { ...rolled, phase: 'asking' });
    const closed = this.#withLedger(broker.ledger, { state: 'CLOSED', count: broker.acknowledged });
    // What is under way belongs to a writer that is gone; those who asked are told that it failed, or ask again.
    return this.#with(place, { ...rolled, phase: 'creating', sent: 0, answers: [] }, closed);
  }

  #ask(broker: Broker, place: number): State {
    return this.#state.version === broker.version
      ? this.#with(place, { ...broker, phase: 'fencing', sent: 0, answers: [] })
      : this.#with(place, { ...broker, ...away });
  }
}
