import { readFileSync } from 'node:fs';

/** Of Linux's /proc; every machine this runs on has 100. */
const ticksPerSecond = 100;

/** CPU seconds (user and system) that processes have used; undefined where that cannot be told. */
export function cpuSecondsOf(pids: readonly number[]): number | undefined {
  let ticks = 0;
  for (const pid of pids) {
    try {
      // The name in parentheses may hold anything, so count from its end: fields 14 and 15 are the 12th and 13th after it.
      const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
      ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      return undefined;
    }
  }
  return ticks / ticksPerSecond;
}

/** CPU of this process and of some others between two moments. */
export class CpuMeter {
  readonly #pids: readonly number[];
  readonly #own: NodeJS.CpuUsage;
  readonly #others: number | undefined;
  constructor(pids: readonly number[]) {
    this.#pids = pids;
    this.#own = process.cpuUsage();
    this.#others = cpuSecondsOf(pids);
  }

  /** Microseconds for each of `count` operations. */
  perOperation(count: number): { clientCpuUs: number; serverCpuUs: number | undefined } {
    const { user, system } = process.cpuUsage(this.#own);
    const others = cpuSecondsOf(this.#pids);
    const each = (us: number): number => Math.round((us / Math.max(1, count)) * 10) / 10;
    const isKnown = this.#pids.length > 0 && others !== undefined && this.#others !== undefined;
    return { clientCpuUs: each(user + system), serverCpuUs: isKnown ? each((others - this.#others) * 1e6) : undefined };
  }
}
