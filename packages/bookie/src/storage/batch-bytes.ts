/**
 * Looks into an append batch's bytes (AppendBatch in proto has the field table) where they lie, in the write cache or in a journal record, without an
 * object per entry. `at` is where the batch starts in `bytes`.
 */
const tableOffset = 40;
const rowBytes = 16;

export function countIn(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at + 4);
}

export function entryIdIn(bytes: Buffer, at: number, index: number): number {
  return readId(bytes, at + tableOffset + index * rowBytes);
}

/** Where the entry starts in `bytes`. */
export function entryStartIn(bytes: Buffer, at: number, index: number): number {
  return at + bytes.readUInt32BE(at + tableOffset + index * rowBytes + 8);
}

export function entryBytesIn(bytes: Buffer, at: number, index: number): number {
  return bytes.readUInt32BE(at + tableOffset + index * rowBytes + 12);
}

/** The row of `entryId`, or -1. */
export function indexOfEntry(bytes: Buffer, at: number, entryId: number): number {
  const count = countIn(bytes, at);
  const dense = entryId - entryIdIn(bytes, at, 0);
  if (dense >= 0 && dense < count && entryIdIn(bytes, at, dense) === entryId) return dense;
  let low = 0;
  let high = count - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const id = entryIdIn(bytes, at, middle);
    if (id === entryId) return middle;
    if (id < entryId) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

/** Reads an id of 64 bits; ids above 2^53 come out inexact and match nothing. */
export function readId(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}

export function writeId(target: Buffer, id: number, at: number): void {
  target.writeUInt32BE(Math.floor(id / 0x1_0000_0000), at);
  target.writeUInt32BE(id % 0x1_0000_0000, at + 4);
}
