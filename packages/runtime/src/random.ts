/** The only source of chance in the core, generated ids included. */
export interface Random {
  /** A uniform integer in [0, 2^32). */
  u32(): number;
  /** `count` random bytes. */
  bytes(count: number): Uint8Array;
}

/** A uniform integer in [0, limit); `limit` is at most 2^32. */
export function below(random: Random, limit: number): number {
  return Math.floor((random.u32() / 0x1_0000_0000) * limit);
}

/** `items` in random order, as a new array. */
export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = below(random, i + 1);
    [out[i], out[j]] = [out[j] as T, out[i] as T];
  }
  return out;
}

/** A random (version 4) UUID as text. */
export function uuid(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
