import { varintBytes, writeVarint } from './writer.js';

/** Fields of bytes, written straight into a buffer of just the size: each value is copied once. Their tags take one byte. */

/** What a field with such a value takes, its tag and length included. */
export function bytesFieldBytes({ length }: Uint8Array): number {
  return 1 + varintBytes(length) + length;
}

/** The same for all of a repeated field. */
export function bytesFieldsBytes(values: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const value of values) bytes += bytesFieldBytes(value);
  return bytes;
}

/** Writes a repeated field and returns where it ends; the caller made room. */
export function writeBytesFields(target: Uint8Array, offset: number, tag: number, values: readonly Uint8Array[]): number {
  let end = offset;
  for (const value of values) {
    target[end++] = tag;
    end = writeVarint(target, end, value.length);
    target.set(value, end);
    end += value.length;
  }
  return end;
}
