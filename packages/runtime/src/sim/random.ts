import type { Random } from '../random.js';

/** A seeded sfc32 generator. */
export class SimRandom implements Random {
  readonly #seed: number;
  readonly #forks = new Map<string, number>();
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number | string) {
    this.#seed = typeof seed === 'number' && seed === seed >>> 0 ? seed : textHash(0, String(seed));
    this.#a = spread(this.#seed, 1);
    this.#b = spread(this.#seed, 2);
    this.#c = spread(this.#seed, 3);
    for (let i = 0; i < 12; i++) this.u32();
  }

  u32(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  bytes(count: number): Uint8Array {
    const out = new Uint8Array(count);
    for (let i = 0; i < count; i += 4) {
      const word = this.u32();
      for (let j = i; j < i + 4 && j < count; j++) out[j] = word >>> ((j - i) * 8);
    }
    return out;
  }

  /** In [0, 1). */
  fraction(): number {
    return this.u32() / 0x1_0000_0000;
  }

  /** True with this probability. Draws nothing for 0, so switching a fault off leaves the rest of a run as it was. */
  chance(probability: number): boolean {
    return probability > 0 && this.fraction() < probability;
  }

  /** A real number in [from, to). */
  between(from: number, to: number): number {
    return from + this.fraction() * (to - from);
  }

  /** An own stream for a part of the world: depends on the seed and the name only, not on what was drawn before. */
  fork(name: string): SimRandom {
    const nth = this.#forks.get(name) ?? 0;
    this.#forks.set(name, nth + 1);
    return new SimRandom(textHash(this.#seed, `${name}#${nth}`));
  }
}

function textHash(seed: number, text: string): number {
  let hash = spread(seed, 0x811c9dc5);
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return spread(hash, 7) >>> 0;
}

function spread(seed: number, salt: number): number {
  let mixed = (seed + Math.imul(salt, 0x9e3779b9)) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return mixed ^ (mixed >>> 15);
}
