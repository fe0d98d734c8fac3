import { crc32cModule } from './crc32c-module.js';

/** The part of WebAssembly used here; TypeScript has it only in its browser library. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: object };
};

const dataStart = 65_536;
const chunkBytes = 65_536;
/** Below this, going to WebAssembly costs more than it saves. */
const smallBytes = 16;

const moduleBytes = Uint8Array.from(atob(crc32cModule), (character) => character.charCodeAt(0));
const { memory, crc } = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes)).exports as {
  memory: { buffer: ArrayBuffer };
  crc: (state: number, at: number, length: number) => number;
};
const tables = new Uint32Array(memory.buffer, 0, 16 * 256);
const data = new Uint8Array(memory.buffer, dataStart, chunkBytes);
fillTables();

/** CRC-32C (Castagnoli) of `bytes`, as an unsigned integer. `seed` is the result for the bytes before them, so chunks can be chained. */
export function crc32c(bytes: Uint8Array, seed = 0): number {
  const length = bytes.length;
  let state = ~seed;
  if (length <= smallBytes) {
    for (let i = 0; i < length; i++) state = (tables[(state ^ (bytes[i] as number)) & 0xff] as number) ^ (state >>> 8);
    return ~state >>> 0;
  }
  if (length <= chunkBytes) {
    data.set(bytes);
    return ~crc(state, dataStart, length) >>> 0;
  }
  for (let at = 0; at < length; at += chunkBytes) {
    const chunk = bytes.subarray(at, at + chunkBytes);
    data.set(chunk);
    state = crc(state, dataStart, chunk.length);
  }
  return ~state >>> 0;
}

/** The CRC-32C of several byte ranges one after the other, as if they were joined. */
export function crc32cParts(parts: readonly Uint8Array[], seed = 0): number {
  let state = seed;
  for (const part of parts) state = crc32c(part, state);
  return state;
}

/** Table `n` tells what a byte does to the register when `n` more bytes follow it. */
function fillTables(): void {
  for (let byte = 0; byte < 256; byte++) {
    let state = byte;
    for (let bit = 0; bit < 8; bit++) state = state & 1 ? (state >>> 1) ^ 0x82f63b78 : state >>> 1;
    tables[byte] = state;
  }
  for (let index = 256; index < tables.length; index++) {
    const before = tables[index - 256] as number;
    tables[index] = (tables[before & 0xff] as number) ^ (before >>> 8);
  }
}
