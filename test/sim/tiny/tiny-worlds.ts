import { type Exploration, explore } from './explore.js';
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
  readonly options: ProtocolOptions;
}

/** The sizes of the specification's own models: small enough to try everything, large enough to have found defects. */
export const tinyCases: readonly TinyCase[] = [
  { name: 'a writer and a recoverer, Qw 2, Qa 2, 1 entry', options: { ...three, bookiesCount: 2, ensembleSize: 2, writeQuorumSize: 2 } },
  {
    name: 'the same with a spare bookie and a request given up',
    options: { ...three, ensembleSize: 2, writeQuorumSize: 2, timeoutsMax: 1 },
  },
  {
    name: 'limbo: 2 bookies, Qw 2, Qa 1, 2 entries, one bookie forgets everything',
    options: { ...three, bookiesCount: 2, ensembleSize: 2, writeQuorumSize: 2, ackQuorumSize: 1, entriesCount: 2, amnesiasMax: 1 },
  },
  { name: 'two recoverers, Qw 2, Qa 2, 1 entry', options: { ...three, bookiesCount: 2, ensembleSize: 2, writeQuorumSize: 2, recoverersCount: 2 } },
  { name: 'a writer and a recoverer, Qw 3, Qa 2, 1 entry', options: three },
  { name: 'main protocol: the same with 4 bookies and a request given up', options: { ...three, bookiesCount: 4, timeoutsMax: 1 } },
];

export interface TinyDefect {
  readonly name: string;
  readonly options: ProtocolOptions;
}

/** Defects in the decisions themselves: each breaks a promise in one of the tiny worlds. */
export const tinyDefects: readonly TinyDefect[] = [
  { name: 'recovery reads do not fence', options: { ...three, bookiesCount: 2, ensembleSize: 2, writeQuorumSize: 2, defect: 'reads do not fence' } },
  { name: 'an entry is acknowledged at Qa - 1', options: { ...three, defect: 'Qa - 1' } },
  { name: 'Qw - Qa negatives count as enough', options: { ...three, defect: 'Qw - Qa negatives' } },
  { name: 'metadata without compare-and-set', options: { ...three, defect: 'no compare-and-set' } },
  { name: 'a writer confirms while its ensemble changes', options: { ...three, bookiesCount: 4, timeoutsMax: 1, defect: 'confirms while changing' } },
  {
    name: 'a bookie that forgot everything says that there is nothing',
    options: { ...three, amnesiasMax: 1, defect: 'amnesia without limbo' },
  },
];

export function findDefect({ options }: TinyDefect, isTimeOver: () => boolean): Exploration {
  return explore(new ProtocolWorld(options), { runsMax: Number.POSITIVE_INFINITY, isTimeOver });
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
  for (const [place, { name, options }] of tinyCases.entries()) {
    const startMs = nowMs();
    const ownEndMs = startMs + (endMs - startMs) / (tinyCases.length - place);
    const exploration = explore(new ProtocolWorld(options), { runsMax: runsLeft, isTimeOver: () => nowMs() > ownEndMs });
    runsLeft -= exploration.runs;
    yield { name, exploration, seconds: (nowMs() - startMs) / 1000 };
  }
}
