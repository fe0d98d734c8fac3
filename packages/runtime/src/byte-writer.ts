import { bytesErrors } from './bytes-errors.js';

/** Writes fields one after the other into a buffer that grows. Integers are big-endian; a value that does not fit throws BYTES_OUT_OF_RANGE. */
export class ByteWriter {
  #buffer: Buffer;
  #position = 0;

  constructor(capacityBytes = 256) {
    this.#buffer = Buffer.allocUnsafe(capacityBytes);
  }

  /** Bytes written so far. */
  get position(): number {
    return this.#position;
  }

  u8(value: number): this {
    requireInteger('an unsigned byte', value, 0, 0xff);
    this.#byte(value);
    return this;
  }

  u16(value: number): this {
    requireInteger('16 unsigned bits', value, 0, 0xffff);
    const at = this.#make(2);
    this.#buffer.writeUInt16BE(value, at);
    return this;
  }

  u32(value: number): this {
    requireInteger('32 unsigned bits', value, 0, 0xffff_ffff);
    const at = this.#make(4);
    this.#buffer.writeUInt32BE(value, at);
    return this;
  }

  i32(value: number): this {
    requireInteger('32 signed bits', value, -0x8000_0000, 0x7fff_ffff);
    const at = this.#make(4);
    this.#buffer.writeInt32BE(value, at);
    return this;
  }

  /** A signed 64-bit integer within ±2^53. */
  i64(value: number): this {
    requireInteger('a safe integer', value, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    const at = this.#make(8);
    this.#buffer.writeInt32BE(Math.floor(value / 0x1_0000_0000), at);
    this.#buffer.writeUInt32BE(value >>> 0, at + 4);
    return this;
  }

  bigI64(value: bigint): this {
    if (BigInt.asIntN(64, value) !== value) throw bytesErrors.OUT_OF_RANGE('64 signed bits', value);
    const at = this.#make(8);
    this.#buffer.writeBigInt64BE(value, at);
    return this;
  }

  bigU64(value: bigint): this {
    if (BigInt.asUintN(64, value) !== value) throw bytesErrors.OUT_OF_RANGE('64 unsigned bits', value);
    const at = this.#make(8);
    this.#buffer.writeBigUInt64BE(value, at);
    return this;
  }

  /** An unsigned LEB128 (as in protobuf). */
  varint(value: number): this {
    requireInteger('a varint below 2^53', value, 0, Number.MAX_SAFE_INTEGER);
    let rest = value;
    while (rest >= 0x80) {
      this.#byte((rest % 128) | 0x80);
      rest = Math.floor(rest / 128);
    }
    this.#byte(rest);
    return this;
  }

  bytes(source: Uint8Array): this {
    const at = this.#make(source.length);
    this.#buffer.set(source, at);
    return this;
  }

  /** UTF-8, without a length. */
  text(value: string): this {
    const bytes = Buffer.byteLength(value);
    const at = this.#make(bytes);
    this.#buffer.write(value, at, bytes, 'utf8');
    return this;
  }

  /** A varint length, then the bytes. */
  lengthAndBytes(source: Uint8Array): this {
    return this.varint(source.length).bytes(source);
  }

  /** A varint length in bytes, then the text as UTF-8. */
  lengthAndText(value: string): this {
    return this.varint(Buffer.byteLength(value)).text(value);
  }

  zeros(count: number): this {
    const at = this.#make(count);
    this.#buffer.fill(0, at, at + count);
    return this;
  }

  /** Overwrites 4 bytes written earlier: for a length or checksum known only at the end. */
  setU32(position: number, value: number): void {
    requireInteger('32 unsigned bits', value, 0, 0xffff_ffff);
    if (position < 0 || position + 4 > this.#position) throw bytesErrors.TRUNCATED(4, position, this.#position);
    this.#buffer.writeUInt32BE(value, position);
  }

  /** A view of what was written since `from`; valid until the next write or `clear`. */
  written(from = 0): Buffer {
    return this.#buffer.subarray(from, this.#position);
  }

  /** A copy of what was written. */
  copy(): Buffer {
    return Buffer.from(this.written());
  }

  /** Starts over in the same memory. */
  clear(): void {
    this.#position = 0;
  }

  #byte(value: number): void {
    const at = this.#make(1);
    this.#buffer[at] = value;
  }

  /** Makes room and moves on. It may replace the buffer: call it before naming `this.#buffer`. */
  #make(count: number): number {
    const at = this.#position;
    const end = at + count;
    if (end > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, this.#buffer.length * 2));
      this.#buffer.copy(larger, 0, 0, at);
      this.#buffer = larger;
    }
    this.#position = end;
    return at;
  }
}

function requireInteger(what: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) throw bytesErrors.OUT_OF_RANGE(what, value);
}
