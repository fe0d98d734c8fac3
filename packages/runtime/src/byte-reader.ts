import { bytesErrors } from './bytes-errors.js';

/** Reads fields one after the other; throws BYTES_TRUNCATED instead of reading past the end. Integers are big-endian. */
export class ByteReader {
  readonly #buffer: Buffer;
  #position: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, position = 0, end = bytes.length) {
    this.#buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (position < 0 || end > bytes.length || position > end) throw bytesErrors.TRUNCATED(end - position, position, bytes.length);
    this.#position = position;
    this.#end = end;
  }

  get position(): number {
    return this.#position;
  }

  get remaining(): number {
    return this.#end - this.#position;
  }

  u8(): number {
    return this.#buffer[this.#take(1)] as number;
  }

  u16(): number {
    return this.#buffer.readUInt16BE(this.#take(2));
  }

  u32(): number {
    return this.#buffer.readUInt32BE(this.#take(4));
  }

  i32(): number {
    return this.#buffer.readInt32BE(this.#take(4));
  }

  /** A signed 64-bit integer that must be within ±2^53: ids, offsets, lengths. */
  i64(): number {
    const at = this.#take(8);
    const value = this.#buffer.readInt32BE(at) * 0x1_0000_0000 + this.#buffer.readUInt32BE(at + 4);
    if (!Number.isSafeInteger(value)) throw bytesErrors.OUT_OF_RANGE('a safe integer', this.#buffer.readBigInt64BE(at));
    return value;
  }

  bigI64(): bigint {
    return this.#buffer.readBigInt64BE(this.#take(8));
  }

  bigU64(): bigint {
    return this.#buffer.readBigUInt64BE(this.#take(8));
  }

  /** An unsigned LEB128 (as in protobuf) that must be below 2^53. */
  varint(): number {
    let value = 0;
    let scale = 1;
    for (let count = 1; ; count++) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (count > 8 || !Number.isSafeInteger(value)) throw bytesErrors.OUT_OF_RANGE('a varint below 2^53', value);
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }

  /** A view of the next bytes, not a copy: it lives as long as the buffer below does. */
  bytes(count: number): Buffer {
    const at = this.#take(count);
    return this.#buffer.subarray(at, at + count);
  }

  /** The next `count` bytes as UTF-8. */
  text(count: number): string {
    const at = this.#take(count);
    return this.#buffer.toString('utf8', at, at + count);
  }

  /** A varint length, then that many bytes (a view). */
  lengthAndBytes(): Buffer {
    return this.bytes(this.varint());
  }

  /** A varint length, then that many bytes of UTF-8. */
  lengthAndText(): string {
    return this.text(this.varint());
  }

  skip(count: number): void {
    this.#take(count);
  }

  #take(count: number): number {
    const at = this.#position;
    if (count < 0 || count > this.#end - at) throw bytesErrors.TRUNCATED(count, at, this.#end);
    this.#position = at + count;
    return at;
  }
}
