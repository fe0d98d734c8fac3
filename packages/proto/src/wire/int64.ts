/** Big-endian 64-bit integers as numbers. Callers keep to -(2^53-1)..2^53-1; reading something larger gives a number that is not a safe integer. */

export function readInt64(source: Uint8Array, offset: number): number {
  const high =
    ((source[offset] as number) << 24) |
    ((source[offset + 1] as number) << 16) |
    ((source[offset + 2] as number) << 8) |
    (source[offset + 3] as number);
  return high * 0x1_0000_0000 + readUint32(source, offset + 4);
}

export function readUint32(source: Uint8Array, offset: number): number {
  return (
    (((source[offset] as number) << 24) |
      ((source[offset + 1] as number) << 16) |
      ((source[offset + 2] as number) << 8) |
      (source[offset + 3] as number)) >>>
    0
  );
}

export function writeUint32(target: Uint8Array, offset: number, value: number): void {
  target[offset] = value >>> 24;
  target[offset + 1] = value >>> 16;
  target[offset + 2] = value >>> 8;
  target[offset + 3] = value;
}

export function writeInt64(target: Uint8Array, offset: number, value: number): void {
  writeUint32(target, offset, Math.floor(value / 0x1_0000_0000));
  writeUint32(target, offset + 4, value >>> 0);
}
