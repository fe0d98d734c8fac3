const bucketMs = 10_000;
const bucketsCount = 7;
/** Rates are averages over the last minute: six whole buckets plus the current one's part. */
const windowMs = bucketMs * (bucketsCount - 1);

/**
 * Messages and bytes per second over a sliding minute. Nothing runs by itself: old buckets are dropped when somebody adds or looks, so that an idle
 * topic costs no time, and one that never had traffic no memory.
 */
export class RateWindow {
  #counts: Float64Array | undefined;
  #bytes: Float64Array | undefined;
  #bucket = 0;
  #beganMs = 0;

  /** Once per batch; `nowMs` on the monotonic clock. */
  add(nowMs: number, count: number, bytes: number): void {
    if (this.#counts === undefined || this.#bytes === undefined) {
      this.#counts = new Float64Array(bucketsCount);
      this.#bytes = new Float64Array(bucketsCount);
      this.#bucket = Math.floor(nowMs / bucketMs);
      this.#beganMs = nowMs;
    }
    this.#advance(nowMs);
    const index = this.#bucket % bucketsCount;
    this.#counts[index]! += count;
    this.#bytes[index]! += bytes;
  }

  read(nowMs: number): { countPerSecond: number; bytesPerSecond: number } {
    if (this.#counts === undefined || this.#bytes === undefined) return { countPerSecond: 0, bytesPerSecond: 0 };
    this.#advance(nowMs);
    const spanMs = Math.min(windowMs + (nowMs % bucketMs), Math.max(1000, nowMs - this.#beganMs));
    return { countPerSecond: (sum(this.#counts) * 1000) / spanMs, bytesPerSecond: (sum(this.#bytes) * 1000) / spanMs };
  }

  #advance(nowMs: number): void {
    const bucket = Math.floor(nowMs / bucketMs);
    const steps = Math.min(bucket - this.#bucket, bucketsCount);
    for (let i = 1; i <= steps; i++) {
      this.#counts![(this.#bucket + i) % bucketsCount] = 0;
      this.#bytes![(this.#bucket + i) % bucketsCount] = 0;
    }
    this.#bucket = Math.max(bucket, this.#bucket);
  }
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
