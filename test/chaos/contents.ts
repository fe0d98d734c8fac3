/** Bytes of which every entry is a piece: not compressible, not periodic. */
const pool = Buffer.alloc(1 << 20);
for (let i = 0, state = 0x9e3779b9; i < pool.length; i += 4) {
  state = Math.imul(state ^ (state >>> 15), 0x85ebca6b) + i;
  pool.writeInt32LE(state | 0, i);
}

/** What entry `entryId` of a ledger holds: anybody can tell from the two numbers, so nobody has to remember it. */
export function contentOf(ledgerId: number, entryId: number): Buffer {
  const mixed = Math.imul(ledgerId * 31 + entryId + 1, 0x9e3779b1) >>> 0;
  // Most are small, one in 64 is large.
  const bytes = mixed % 64 === 0 ? 20_000 + (mixed % 40_000) : 64 + (mixed % 2_500);
  const start = mixed % (pool.length - bytes);
  const content = Buffer.from(pool.subarray(start, start + bytes));
  content.writeDoubleBE(ledgerId, 0);
  content.writeDoubleBE(entryId, 8);
  return content;
}
