const table = makeTable();

function makeTable(): Uint32Array {
  const out = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    let value = i;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb8_8320 : value >>> 1;
    out[i] = value;
  }
  return out;
}

/**
 * CRC-32 as zlib has it, continued from `seed` (the checksum of what came before). By table, because `zlib.crc32` is missing in early releases of
 * Node 20 and in browsers: it serves ledgers with digest CRC32 and topic hashes, neither of which is the default path of entries.
 */
export function crc32(bytes: Uint8Array, seed = 0, from = 0, to = bytes.length): number {
  let crc = ~seed;
  for (let i = from; i < to; i++) crc = (table[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}
