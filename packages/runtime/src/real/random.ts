import { randomFillSync } from 'node:crypto';
import type { Random } from '../random.js';

const pooledWords = 256;

/** The operating system's random numbers, fetched a page at a time. */
export class RealRandom implements Random {
  readonly #pool = new Uint32Array(pooledWords);
  #used = pooledWords;

  u32(): number {
    if (this.#used === pooledWords) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    return this.#pool[this.#used++] as number;
  }

  bytes(count: number): Uint8Array {
    return randomFillSync(new Uint8Array(count));
  }
}
