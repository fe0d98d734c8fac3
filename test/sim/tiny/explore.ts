/** A world small enough to try everything: deterministic, told which of its choices to take. */
export interface TinyWorld {
  /** How many things may happen next; none: the run is over. */
  choicesCount(): number;
  /** For people. */
  describe(index: number): string;
  take(index: number): void;
  clone(): TinyWorld;
  /** The same for states that behave the same from here on. */
  fingerprint(): string;
  /** A broken promise. */
  readonly violation: string | undefined;
}

export interface Exploration {
  runs: number;
  states: number;
  /** False: a limit ended it. */
  isExhausted: boolean;
  depthMax: number;
  violation: { text: string; steps: readonly string[] } | undefined;
}

export interface ExploreLimits {
  runsMax: number;
  /** Asked now and then. */
  isTimeOver?: () => boolean;
}

interface Trail {
  readonly before: Trail | undefined;
  readonly taken: number;
  readonly depth: number;
}

interface Fork {
  /** As it was when there was a choice. */
  readonly world: TinyWorld;
  readonly count: number;
  readonly trail: Trail | undefined;
  taken: number;
}

/** More forks than this are not kept waiting: then the youngest goes on, and the search takes little memory. */
const forksMax = 150_000;

/**
 * All orders of everything that may happen: each run goes on from a place where something else could have happened, until it ends or comes to a state that
 * was seen before. Places are taken from all over, so that a limit leaves no large part untouched. Ends at the first violation.
 */
export function explore(first: TinyWorld, { runsMax, isTimeOver = () => false }: ExploreLimits): Exploration {
  const seen = new Set<number>();
  const forks: Fork[] = [];
  const result: Exploration = { runs: 0, states: 0, isExhausted: false, depthMax: 0, violation: undefined };
  let next: Start | undefined = { world: first.clone(), trail: undefined };
  for (; next !== undefined && result.runs < runsMax; next = nextOf(forks, result.runs)) {
    result.runs++;
    if (result.runs % 1024 === 0 && isTimeOver()) return result;
    const end = runOn(next, forks, seen);
    result.states = seen.size;
    result.depthMax = Math.max(result.depthMax, end.depth);
    if (end.violation !== undefined) return { ...result, violation: { text: end.violation, steps: stepsOf(first, end.trail) } };
  }
  return { ...result, isExhausted: next === undefined };
}

interface Start {
  readonly world: TinyWorld;
  readonly trail: Trail | undefined;
}

/** One run to its end. */
function runOn(from: Start, forks: Fork[], seen: Set<number>): { violation?: string; trail: Trail | undefined; depth: number } {
  let { world, trail } = from;
  for (let depth = trail?.depth ?? 0; ; depth++) {
    if (world.violation !== undefined) return { violation: world.violation, trail, depth };
    const before = seen.size;
    seen.add(digestOf(world.fingerprint()));
    if (seen.size === before) return { trail, depth };
    const count = world.choicesCount();
    if (count === 0) return { trail, depth };
    if (count > 1) {
      forks.push({ world, count, taken: 0, trail });
      world = world.clone();
    }
    world.take(0);
    trail = { before: trail, taken: 0, depth: depth + 1 };
  }
}

function nextOf(forks: Fork[], runs: number): Start | undefined {
  while (forks.length > 0) {
    // Any of them, but always the same ones.
    const place = forks.length > forksMax ? forks.length - 1 : Math.imul(runs, 2_654_435_761) % forks.length;
    const index = place < 0 ? place + forks.length : place;
    const fork = forks[index] as Fork;
    const taken = ++fork.taken;
    const isLast = taken === fork.count - 1;
    if (isLast) {
      forks[index] = forks.at(-1) as Fork;
      forks.pop();
    }
    const world = isLast ? fork.world : fork.world.clone();
    world.take(taken);
    return { world, trail: { before: fork.trail, taken, depth: (fork.trail?.depth ?? 0) + 1 } };
  }
  return undefined;
}

/** 53 bits of a text: among a million states, two that differ are taken for the same with a chance of 1 in 20,000. */
function digestOf(text: string): number {
  let [low, high] = [0x811c9dc5, 0x9e3779b9];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(((high << 15) | (high >>> 17)) ^ code, 0xcc9e2d51);
  }
  low = Math.imul(low ^ (low >>> 15), 0x85ebca6b);
  high = Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return (low >>> 0) * 0x20_0000 + ((high ^ (high >>> 16)) >>> 11);
}

function stepsOf(first: TinyWorld, trail: Trail | undefined): string[] {
  const taken: number[] = [];
  for (let at = trail; at !== undefined; at = at.before) taken.unshift(at.taken);
  const world = first.clone();
  return taken.map((index) => {
    const text = world.describe(index);
    world.take(index);
    return text;
  });
}
