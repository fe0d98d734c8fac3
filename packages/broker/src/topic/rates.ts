const bucketMs = 10_000;
const bucketsCount = 7;
/** Rates are averages over the last minute: six whole buckets plus the current one's part. */
const windowMs = bucketMs * (bucketsCount - 1);

/**
 * Messages and bytes per second over a sliding minute. Nothing runs by itself: old buckets are dropped when somebody adds or looks, so that an idle
 * topic costs no time, and one that never had traffic no memory.
 */
export class RateWindow {
  /** Messages, then bytes, of each bucket. */
  #sums: number[] | undefined;
  #bucket = 0;
  #beganMs = 0;

  /** Once per batch; `nowMs` on the monotonic clock. */
  add(nowMs: number, count: number, bytes: number): void {
    if (this.#sums === undefined) {
      this.#sums = new Array(2 * bucketsCount).fill(0);
      this.#bucket = Math.floor(nowMs / bucketMs);
      this.#beganMs = Math.floor(nowMs);
    }
    this.#advance(this.#sums, nowMs);
    const index = 2 * (this.#bucket % bucketsCount);
    this.#sums[index]! += count;
    this.#sums[index + 1]! += bytes;
  }

  read(nowMs: number): { countPerSecond: number; bytesPerSecond: number } {
    if (this.#sums === undefined) return { countPerSecond: 0, bytesPerSecond: 0 };
    this.#advance(this.#sums, nowMs);
    let count = 0;
    let bytes = 0;
    for (let index = 0; index < this.#sums.length; index += 2) {
      count += this.#sums[index]!;
      bytes += this.#sums[index + 1]!;
    }
    const spanMs = Math.min(windowMs + (nowMs % bucketMs), Math.max(1000, nowMs - this.#beganMs));
    return { countPerSecond: (count * 1000) / spanMs, bytesPerSecond: (bytes * 1000) / spanMs };
  }

  #advance(sums: number[], nowMs: number): void {
    const bucket = Math.floor(nowMs / bucketMs);
    const steps = Math.min(bucket - this.#bucket, bucketsCount);
    for (let step = 1; step <= steps; step++) {
      const index = 2 * ((this.#bucket + step) % bucketsCount);
      sums[index] = 0;
      sums[index + 1] = 0;
    }
    this.#bucket = Math.max(bucket, this.#bucket);
  }
}
