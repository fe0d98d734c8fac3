const table = makeTable();

function makeTable(): Uint32Array {
  const out = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    let value = i;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f6_3b78 : value >>> 1;
    out[i] = value;
  }
  return out;
}

export function crc32c(bytes: Uint8Array, seed = 0): number {
  let crc = ~seed;
  for (let i = 0; i < bytes.length; i++) crc = (table[(crc ^ (bytes[i] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}
