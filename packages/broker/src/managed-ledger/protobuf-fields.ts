import { managedLedgerErrors } from './errors.js';

/** Writes protobuf fields one after another. */
export class FieldWriter {
  #bytes = Buffer.allocUnsafe(256);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  int64(field: number, value: number | bigint): this {
    this.#varint(field * 8);
    if (typeof value === 'bigint') return this.#bigVarint(BigInt.asUintN(64, value));
    return value < 0 ? this.#bigVarint(BigInt.asUintN(64, BigInt(value))) : this.#varint(value);
  }

  /** A 64-bit value given as two halves, as an int64 field. */
  halves64(field: number, low: number, high: number): this {
    this.#varint(field * 8);
    let lowLeft = low;
    let highLeft = high;
    this.#reserve(10);
    while (highLeft !== 0 || lowLeft >= 128) {
      this.#bytes[this.#length++] = (lowLeft & 0x7f) | 0x80;
      lowLeft = ((lowLeft >>> 7) | (highLeft << 25)) >>> 0;
      highLeft = highLeft >>> 7;
    }
    this.#bytes[this.#length++] = lowLeft;
    return this;
  }

  bytes(field: number, value: Uint8Array): this {
    this.#varint(field * 8 + 2).#varint(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  string(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value, 'utf8'));
  }

  /** A view: the writer must not be used again. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  #varint(value: number): this {
    this.#reserve(10);
    let left = value;
    while (left >= 128) {
      this.#bytes[this.#length++] = (left % 128) + 128;
      left = Math.floor(left / 128);
    }
    this.#bytes[this.#length++] = left;
    return this;
  }

  #bigVarint(value: bigint): this {
    this.#reserve(10);
    let left = value;
    while (left >= 128n) {
      this.#bytes[this.#length++] = Number(left & 0x7fn) + 128;
      left >>= 7n;
    }
    this.#bytes[this.#length++] = Number(left);
    return this;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + count));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** A field as read: varints as unsigned 64-bit, everything else as bytes. */
export interface Field {
  readonly number: number;
  readonly value: bigint;
  readonly bytes: Buffer;
}

const nothing = Buffer.alloc(0);

/** Calls `visit` with each field. Throws `MANAGED_LEDGER_BAD_CURSOR_STATE` for bytes that are no protobuf message. */
export function readFields(source: Uint8Array, visit: (field: Field) => void): void {
  const buffer = Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (at >= buffer.length) throw managedLedgerErrors.BAD_CURSOR_STATE('it ends inside a number');
      const byte = buffer[at++] as number;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
    throw managedLedgerErrors.BAD_CURSOR_STATE('a number is too long');
  };
  while (at < buffer.length) {
    const tag = Number(varint());
    const number = Math.floor(tag / 8);
    const type = tag % 8;
    if (type === 0) {
      visit({ number, value: varint(), bytes: nothing });
      continue;
    }
    const length = type === 2 ? Number(varint()) : type === 1 ? 8 : type === 5 ? 4 : -1;
    if (number === 0 || length < 0 || at + length > buffer.length) throw managedLedgerErrors.BAD_CURSOR_STATE(`field ${number} does not fit`);
    visit({ number, value: 0n, bytes: buffer.subarray(at, at + length) });
    at += length;
  }
}

export function signed(value: bigint): number {
  return Number(BigInt.asIntN(64, value));
}
