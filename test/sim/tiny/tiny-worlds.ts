import { type ChainOptions, ChainWorld } from './chain-world.js';
import { type Exploration, explore, type TinyWorld } from './explore.js';
import { ProtocolWorld } from './protocol-world.js';
import type { ProtocolOptions } from './tiny-net.js';

const three: ProtocolOptions = {
  bookiesCount: 3,
  ensembleSize: 3,
  writeQuorumSize: 3,
  ackQuorumSize: 2,
  entriesCount: 1,
  recoverersCount: 1,
  timeoutsMax: 0,
  amnesiasMax: 0,
};

export interface TinyCase {
  readonly name: string;
  make(): TinyWorld;
}

function ledger(name: string, options: ProtocolOptions): TinyCase {
  return { name, make: () => new ProtocolWorld(options) };
}

const twoBrokers: ChainOptions = { brokersCount: 2, appendsMax: 1, rolloversMax: 1, opensMax: 2 };

function chain(name: string, options: ChainOptions): TinyCase {
  return { name, make: () => new ChainWorld(options) };
}

/** The sizes of the specification's own models: small enough to try everything, large enough to have found defects. */
export const tinyCases: readonly TinyCase[] = [
  ledger('a writer and a recoverer, Qw 2, Qa 2, 1 entry', { ...three, bookiesCount: 2, ensembleSize: 2, writeQuorumSize: 2 }),
  chain('a chain of ledgers: two brokers that take a log from each other', twoBrokers),
  ledger('a ledger with a spare bookie and a request given up', { ...three, ensembleSize: 2, writeQuorumSize: 2, timeoutsMax: 1 }),
  ledger('limbo: 2 bookies, Qw 2, Qa 1, 2 entries, one bookie forgets everything', {
    ...three,
    bookiesCount: 2,
    ensembleSize: 2,
    writeQuorumSize: 2,
    ackQuorumSize: 1,
    entriesCount: 2,
    amnesiasMax: 1,
  }),
  ledger('two recoverers, Qw 2, Qa 2, 1 entry', { ...three, bookiesCount: 2, ensembleSize: 2, writeQuorumSize: 2, recoverersCount: 2 }),
  ledger('a writer and a recoverer, Qw 3, Qa 2, 1 entry', three),
  ledger('main protocol: the same with 4 bookies and a request given up', { ...three, bookiesCount: 4, timeoutsMax: 1 }),
];

export type TinyDefect = TinyCase;

/** Defects in the decisions themselves: each breaks a promise in one of the tiny worlds. */
export const tinyDefects: readonly TinyDefect[] = [
  ledger('recovery reads do not fence', { ...three, bookiesCount: 2, ensembleSize: 2, writeQuorumSize: 2, defect: 'reads do not fence' }),
  ledger('an entry is acknowledged at Qa - 1', { ...three, defect: 'Qa - 1' }),
  ledger('Qw - Qa negatives count as enough', { ...three, defect: 'Qw - Qa negatives' }),
  ledger('metadata without compare-and-set', { ...three, defect: 'no compare-and-set' }),
  ledger('a writer confirms while its ensemble changes', { ...three, bookiesCount: 4, timeoutsMax: 1, defect: 'confirms while changing' }),
  ledger('a bookie that forgot everything says that there is nothing', { ...three, amnesiasMax: 1, defect: 'amnesia without limbo' }),
  chain('a log is opened without recovery of its last ledger', { ...twoBrokers, defect: 'opens without recovery' }),
  chain('the list of ledgers is written without compare-and-set', { ...twoBrokers, defect: 'list without compare-and-set' }),
  chain('a ledger is written before the list names it', { ...twoBrokers, defect: 'serves before the list is changed' }),
];

export function findDefect({ make }: TinyDefect, isTimeOver: () => boolean): Exploration {
  return explore(make(), { runsMax: Number.POSITIVE_INFINITY, isTimeOver });
}

export interface TinyResult {
  readonly name: string;
  readonly exploration: Exploration;
  readonly seconds: number;
}

export interface TinyLimits {
  runsMax: number;
  /** For all of them; what one leaves over the next ones have. */
  seconds: number;
  nowMs: () => number;
}

export function* runTinyCases({ runsMax, seconds, nowMs }: TinyLimits): Generator<TinyResult> {
  const endMs = nowMs() + seconds * 1000;
  let runsLeft = runsMax;
  for (const [place, { name, make }] of tinyCases.entries()) {
    const startMs = nowMs();
    const ownEndMs = startMs + (endMs - startMs) / (tinyCases.length - place);
    const exploration = explore(make(), { runsMax: runsLeft, isTimeOver: () => nowMs() > ownEndMs });
    runsLeft -= exploration.runs;
    yield { name, exploration, seconds: (nowMs() - startMs) / 1000 };
  }
}
