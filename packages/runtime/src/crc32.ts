import * as zlib from 'node:zlib';

/** CRC-32 (as in gzip) of `bytes`; `seed` is the result for the bytes before them. */
export function crc32(bytes: Uint8Array, seed = 0): number {
  return fromZlib === undefined ? tableCrc32(bytes, seed) : fromZlib(bytes, seed);
}

/** Since Node 20.15. */
const fromZlib = (zlib as { crc32?: (bytes: Uint8Array, seed: number) => number }).crc32;

let table: Uint32Array | undefined;

/** For a Node without `zlib.crc32`. */
export function tableCrc32(bytes: Uint8Array, seed = 0): number {
  table ??= crc32Table();
  let crc = ~seed;
  for (const byte of bytes) crc = (table[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}

function crc32Table(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, index) => {
    let crc = index;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    return crc;
  });
}
