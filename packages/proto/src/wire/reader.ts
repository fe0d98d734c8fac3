import { Malformed } from '../errors.js';

/** Protobuf wire types (persisted). */
export const wireType = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
const asciiLengthMax = 48;

/**
 * Reads protobuf fields from a part of a byte array. Runs in browsers. Every read is bounds-checked; what is wrong is thrown as {@link Malformed}.
 *
 *     while (reader.next()) {
 *       switch (reader.field) {
 *         case 1: id = reader.uint(); break;
 *         default: reader.skip();
 *       }
 *     }
 */
export class WireReader {
  /** Number of the field {@link next} stopped at. */
  field = 0;
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #position: number;
  #wireType = 0;
  #fieldStart = 0;
  #low = 0;
  #high = 0;

  constructor(bytes: Uint8Array, from = 0, to = bytes.length) {
    this.#bytes = bytes;
    this.#position = from;
    this.#end = to;
  }

  /** Moves to the next field; false at the end. Its value must then be read or skipped. */
  next(): boolean {
    if (this.#position >= this.#end) return false;
    this.#fieldStart = this.#position;
    const tag = this.#uint32('a field tag');
    this.field = tag >>> 3;
    this.#wireType = tag & 7;
    if (this.field === 0) throw new Malformed('field number 0');
    return true;
  }

  /** An unsigned 64-bit number below 2^53. */
  uint(): number {
    this.#varintField();
    if (this.#high > 0x1f_ffff) throw new Malformed(`field ${this.field} is beyond 2^53`);
    return this.#high * 0x1_0000_0000 + this.#low;
  }

  /** As {@link uint}, but what is beyond 2^53 is read as 2^53-1. For times: they are only compared and shown. */
  uintSaturated(): number {
    this.#varintField();
    return this.#high > 0x1f_ffff ? Number.MAX_SAFE_INTEGER : this.#high * 0x1_0000_0000 + this.#low;
  }

  /** A signed 64-bit number whose size is below 2^53. */
  int(): number {
    this.#varintField();
    const isNegative = this.#high >= 0x8000_0000;
    const value = isNegative ? -((~this.#high >>> 0) * 0x1_0000_0000 + (~this.#low >>> 0) + 1) : this.#high * 0x1_0000_0000 + this.#low;
    if (!Number.isSafeInteger(value)) throw new Malformed(`field ${this.field} is beyond 2^53`);
    return value;
  }

  /** A signed 32-bit number; as in every protobuf implementation the upper half is ignored. */
  int32(): number {
    this.#varintField();
    return this.#low | 0;
  }

  uint64(): bigint {
    this.#varintField();
    return (BigInt(this.#high) << 32n) | BigInt(this.#low);
  }

  int64(): bigint {
    return BigInt.asIntN(64, this.uint64());
  }

  bool(): boolean {
    this.#varintField();
    return this.#low !== 0 || this.#high !== 0;
  }

  /** A view, not a copy: a Buffer when the input was one. */
  bytes(): Uint8Array {
    const end = this.#lengthDelimited();
    const view = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    return view;
  }

  /** Invalid UTF-8 becomes U+FFFD. */
  string(): string {
    const end = this.#lengthDelimited();
    const start = this.#position;
    this.#position = end;
    return textOf(this.#bytes, start, end);
  }

  /** A reader of an embedded message. */
  message(): WireReader {
    const end = this.#lengthDelimited();
    const inner = new WireReader(this.#bytes, this.#position, end);
    this.#position = end;
    return inner;
  }

  /** A repeated number, packed or not: calls `each` with a reader positioned before every value. */
  repeated(each: (reader: WireReader) => void): void {
    if (this.#wireType !== wireType.bytes) {
      each(this);
      return;
    }
    const packed = this.message();
    packed.field = this.field;
    packed.#wireType = wireType.varint;
    while (packed.#position < packed.#end) each(packed);
  }

  /** Passes over the value and returns the whole field, tag included, as a view: for records that keep what they do not know. */
  skip(): Uint8Array {
    switch (this.#wireType) {
      case wireType.varint:
        this.#varint();
        break;
      case wireType.fixed64:
        this.#advance(8);
        break;
      case wireType.bytes:
        this.#position = this.#lengthDelimited();
        break;
      case wireType.fixed32:
        this.#advance(4);
        break;
      default:
        throw new Malformed(`field ${this.field} has wire type ${this.#wireType}`);
    }
    return this.#bytes.subarray(this.#fieldStart, this.#position);
  }

  #advance(count: number): void {
    if (count > this.#end - this.#position) throw new Malformed(`field ${this.field} is cut off`);
    this.#position += count;
  }

  /** Checks the wire type and returns where the value ends; the position is at its begin. */
  #lengthDelimited(): number {
    if (this.#wireType !== wireType.bytes) throw new Malformed(`field ${this.field} has wire type ${this.#wireType}, not 2`);
    const length = this.#uint32(`the length of field ${this.field}`);
    if (length > this.#end - this.#position) throw new Malformed(`field ${this.field} is cut off`);
    return this.#position + length;
  }

  #varintField(): void {
    if (this.#wireType !== wireType.varint) throw new Malformed(`field ${this.field} has wire type ${this.#wireType}, not 0`);
    this.#varint();
  }

  #uint32(what: string): number {
    this.#varint();
    if (this.#high !== 0) throw new Malformed(`${what} is beyond 2^32`);
    return this.#low;
  }

  #varint(): void {
    const bytes = this.#bytes;
    let position = this.#position;
    let low = 0;
    let high = 0;
    for (let shift = 0; ; shift += 7) {
      if (position >= this.#end) throw new Malformed('a number is cut off');
      const byte = bytes[position++] as number;
      if (shift === 63 && byte > 1) throw new Malformed('a number has more than 64 bits');
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) break;
    }
    this.#low = low >>> 0;
    this.#high = high >>> 0;
    this.#position = position;
  }
}

/** Short ASCII text, the usual case, is faster without a decoder. */
export function textOf(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > asciiLengthMax) return utf8.decode(bytes.subarray(start, end));
  let text = '';
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte >= 0x80) return utf8.decode(bytes.subarray(start, end));
    text += String.fromCharCode(byte);
  }
  return text;
}
