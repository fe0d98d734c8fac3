import type { Clock } from '@daybook/runtime';
import type { TailCache } from './tail-cache.js';

const slabBytes = 64 * 1024;

/** A block of copied payloads of any number of logs. Never written again once full; views of it may outlive its place in the cache. */
export interface Slab {
  readonly bytes: Buffer;
  usedBytes: number;
  /** The bytes are still right, but the cache no longer counts them: readers have to ask the bookies. */
  isEvicted: boolean;
  lastUsedMs: number;
  /** Logs that have entries in it. */
  readonly owners: Set<TailCache>;
}

/**
 * The newest payloads of all logs of a broker, so that whoever reads at the tail needs no bookie. Payloads are copied once, at the append, into shared
 * slabs that are dropped oldest first, by size or age: an idle log holds nothing.
 */
export class EntryCache {
  readonly #clock: Clock;
  readonly #bytesMax: number;
  readonly #ageMaxMs: number;
  #slabs: Slab[] = [];
  #bytes = 0;
  /** Where in the slab {@link copy} put the payload. */
  lastOffset = 0;

  constructor(options: { clock: Clock; bytesMax: number; ageMaxMs: number }) {
    this.#clock = options.clock;
    this.#bytesMax = options.bytesMax;
    this.#ageMaxMs = options.ageMaxMs;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Copies a payload to `lastOffset` of the slab returned. */
  copy(payload: Uint8Array): Slab {
    let slab = this.#slabs.at(-1);
    if (slab === undefined || slab.usedBytes + payload.length > slab.bytes.length) slab = this.#newSlab(payload.length);
    this.lastOffset = slab.usedBytes;
    slab.bytes.set(payload, slab.usedBytes);
    slab.usedBytes += payload.length;
    return slab;
  }

  /** Drops what is too old; called now and then. */
  sweep(): void {
    const limitMs = this.#clock.monoMs() - this.#ageMaxMs;
    while (this.#slabs.length > 0 && (this.#slabs[0] as Slab).lastUsedMs < limitMs) this.#evictOldest();
    const newest = this.#slabs.at(-1);
    // The newest one may still be filling: from now on it counts as used only when it grows again.
    if (newest !== undefined && newest.usedBytes !== this.#sweptBytes) {
      newest.lastUsedMs = this.#clock.monoMs();
      this.#sweptBytes = newest.usedBytes;
    }
  }
  #sweptBytes = 0;

  #newSlab(payloadBytes: number): Slab {
    const capacity = Math.max(slabBytes, payloadBytes);
    while (this.#slabs.length > 0 && this.#bytes + capacity > this.#bytesMax) this.#evictOldest();
    const slab: Slab = {
      bytes: Buffer.allocUnsafeSlow(capacity),
      usedBytes: 0,
      isEvicted: false,
      lastUsedMs: this.#clock.monoMs(),
      owners: new Set(),
    };
    this.#slabs.push(slab);
    this.#bytes += capacity;
    this.#sweptBytes = 0;
    return slab;
  }

  #evictOldest(): void {
    const slab = this.#slabs.shift() as Slab;
    slab.isEvicted = true;
    this.#bytes -= slab.bytes.length;
    for (const owner of slab.owners) owner.prune();
    slab.owners.clear();
  }
}
