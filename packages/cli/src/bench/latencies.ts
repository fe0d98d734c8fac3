/** Values from 1 us to about an hour in buckets that are at most 1 % wide: constant memory, and adding costs next to nothing. */
const mantissaBits = 7;
const mantissas = 1 << mantissaBits;
const exponents = 26;

export interface LatencySummary {
  p50Ms: number;
  p99Ms: number;
  p999Ms: number;
  maxMs: number;
}

export class Latencies {
  readonly #counts = new Float64Array(exponents * mantissas);
  #count = 0;
  #maxUs = 0;

  get count(): number {
    return this.#count;
  }

  add(ms: number): void {
    const us = Math.max(0, Math.round(ms * 1000));
    if (us > this.#maxUs) this.#maxUs = us;
    this.#counts[bucketOf(us)]!++;
    this.#count++;
  }

  /** The value that a share of all values does not exceed; 0 without any. */
  quantileMs(share: number): number {
    let left = Math.ceil(this.#count * share);
    for (let bucket = 0; bucket < this.#counts.length && left > 0; bucket++) {
      left -= this.#counts[bucket]!;
      if (left <= 0) return Math.min(upperUs(bucket), this.#maxUs) / 1000;
    }
    return this.#maxUs / 1000;
  }

  summary(): LatencySummary {
    const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;
    return {
      p50Ms: rounded(this.quantileMs(0.5)),
      p99Ms: rounded(this.quantileMs(0.99)),
      p999Ms: rounded(this.quantileMs(0.999)),
      maxMs: this.#maxUs / 1000,
    };
  }

  clear(): void {
    this.#counts.fill(0);
    this.#count = 0;
    this.#maxUs = 0;
  }
}

/** Below 128 us each value has its own bucket, above each power of two has 128. */
function bucketOf(us: number): number {
  if (us < mantissas) return us;
  const exponent = 31 - Math.clz32(Math.min(us, 0xffffffff)) - mantissaBits;
  const bucket = (exponent + 1) * mantissas + (Math.floor(us / 2 ** exponent) - mantissas);
  return Math.min(bucket, exponents * mantissas - 1);
}

function upperUs(bucket: number): number {
  if (bucket < mantissas) return bucket;
  const exponent = Math.floor(bucket / mantissas) - 1;
  return ((bucket % mantissas) + mantissas + 1) * 2 ** exponent - 1;
}
