import { wireType } from './reader.js';

const utf8 = new TextEncoder();

/** Writes protobuf fields into a growing byte array. Runs in browsers. For everything but the per-message paths, which compute their sizes first. */
export class WireWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(bytesHint = 128) {
    this.#bytes = new Uint8Array(bytesHint);
  }

  get length(): number {
    return this.#length;
  }

  /** Any integer; negative ones take ten bytes, as int32, int64 and enum fields have it. */
  int(field: number, value: number | bigint): this {
    this.#varint(field * 8 + wireType.varint);
    this.#varint(value);
    return this;
  }

  bool(field: number, value: boolean): this {
    return this.int(field, value ? 1 : 0);
  }

  string(field: number, text: string): this {
    return this.bytes(field, utf8.encode(text));
  }

  bytes(field: number, value: Uint8Array): this {
    this.#varint(field * 8 + wireType.bytes);
    this.#varint(value.length);
    return this.raw(value);
  }

  message(field: number, body: WireWriter): this {
    return this.bytes(field, body.#bytes.subarray(0, body.#length));
  }

  /** Numbers without tags, in one field. */
  packed(field: number, values: Iterable<number | bigint>): this {
    const body = new WireWriter();
    for (const value of values) body.#varint(value);
    return body.#length === 0 ? this : this.message(field, body);
  }

  /** Whole fields as they came in, or a length prefix's body. */
  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  /** A length prefix as in "delimited" messages. */
  length32(length: number): this {
    this.#varint(length);
    return this;
  }

  /** The bytes written, as a copy of just their size. */
  finish(): Buffer {
    const out = Buffer.alloc(this.#length);
    out.set(this.#bytes.subarray(0, this.#length));
    return out;
  }

  /** As {@link finish} where there is no Buffer. */
  finishBytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }

  #varint(value: number | bigint): void {
    this.#reserve(10);
    if (typeof value === 'number' && value >= 0) {
      this.#length = writeVarint(this.#bytes, this.#length, value);
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest > 0x7fn) {
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.#bytes[this.#length++] = Number(rest);
  }
}

/** Writes a number from 0 to 2^53-1 and returns where it ends; the caller made room. */
export function writeVarint(target: Uint8Array, offset: number, value: number): number {
  let rest = value;
  let position = offset;
  while (rest > 0x7fff_ffff) {
    target[position++] = (rest & 0x7f) | 0x80;
    rest = Math.floor(rest / 128);
  }
  while (rest > 0x7f) {
    target[position++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[position++] = rest;
  return position;
}

/** How many bytes {@link writeVarint} writes. */
export function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  if (value < 0x1000_0000) return 4;
  let bytes = 5;
  for (let rest = Math.floor(value / 0x8_0000_0000); rest > 0; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
}
