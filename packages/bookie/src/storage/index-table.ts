import { crc32c } from '@daybook/runtime';
import { readId, writeId } from './batch-bytes.js';
import {
  blockBytesAim,
  blockRowBytes,
  decodeLedgerRow,
  encodeLedgerRow,
  encodeRun,
  encodeTrailer,
  type LedgerRow,
  ledgerRowBytes,
  type Run,
  runBytes,
  runHeaderBytes,
} from './index-format.js';
import { ledgerRowOf, type OpenIndex } from './open-index.js';

/** Entries that fill one block on their own; a longer run goes into several blocks. */
const entriesPerBlock = (blockBytesAim - runHeaderBytes) / 4 - 1;

interface Row {
  ledgerId: number;
  entryId: number;
  offset: number;
  bytes: number;
  crc: number;
}

/** The table that seals a log, as the bytes that go to `offset` of its index file, and its ledgers. */
export function buildIndexTable(
  index: OpenIndex,
  logId: number,
  place: { offset: number; logBytes: number; holeBytes?: number },
): { bytes: Buffer; ledgers: LedgerRow[] } {
  const builder = new BlockBuilder(place.offset);
  const ledgers: LedgerRow[] = [];
  for (const ledgerId of index.ledgerIds()) {
    const runs = index.runsOf(ledgerId);
    for (const run of runs) builder.add(run);
    ledgers.push(ledgerRowOf(ledgerId, runs));
  }
  builder.endBlock();
  const blocks = encodeBlockTable(builder.rows);
  const ledgerTable = Buffer.alloc(ledgers.length * ledgerRowBytes);
  for (const [i, row] of ledgers.entries()) encodeLedgerRow(ledgerTable, i * ledgerRowBytes, row);
  const blocksOffset = builder.offset;
  const ledgersOffset = blocksOffset + blocks.length;
  const trailer = encodeTrailer({
    logId,
    blocks: { offset: blocksOffset, bytes: blocks.length, crc: crc32c(blocks) },
    ledgers: { offset: ledgersOffset, bytes: ledgerTable.length, crc: crc32c(ledgerTable) },
    logBytes: place.logBytes,
    holeBytes: place.holeBytes ?? 0,
  });
  return { bytes: Buffer.concat([...builder.blocks, blocks, ledgerTable, trailer]), ledgers };
}

class BlockBuilder {
  readonly blocks: Buffer[] = [];
  readonly rows: Row[] = [];
  /** Where the next block goes. */
  offset: number;
  #block = Buffer.allocUnsafe(blockBytesAim);
  #used = 0;
  #first: { ledgerId: number; entryId: number } | undefined;

  constructor(offset: number) {
    this.offset = offset;
  }

  add(run: Run): void {
    for (let from = 0; from < run.count; ) {
      const roomFor = (blockBytesAim - this.#used - runHeaderBytes) / 4 - 1;
      if (roomFor < Math.min(run.count - from, 16)) {
        this.endBlock();
        continue;
      }
      const count = Math.min(run.count - from, Math.floor(roomFor), entriesPerBlock);
      this.#first ??= { ledgerId: run.ledgerId, entryId: run.firstEntryId + from };
      this.#used = encodeRun(this.#block, this.#used, run, from, count);
      from += count;
    }
  }

  endBlock(): void {
    if (this.#first === undefined) return;
    const bytes = Buffer.from(this.#block.subarray(0, this.#used));
    this.rows.push({ ...this.#first, offset: this.offset, bytes: bytes.length, crc: crc32c(bytes) });
    this.blocks.push(bytes);
    this.offset += bytes.length;
    this.#used = 0;
    this.#first = undefined;
  }
}

function encodeBlockTable(rows: readonly Row[]): Buffer {
  const out = Buffer.alloc(rows.length * blockRowBytes);
  rows.forEach((row, i) => {
    const at = i * blockRowBytes;
    writeId(out, row.ledgerId, at);
    writeId(out, row.entryId, at + 8);
    out.writeUInt32BE(row.offset, at + 16);
    out.writeUInt32BE(row.bytes, at + 20);
    out.writeUInt32BE(row.crc, at + 24);
  });
  return out;
}

export interface BlockPlace {
  index: number;
  offset: number;
  bytes: number;
  crc: number;
}

/** The only block of the table that may hold an entry: the last one that does not begin after it. */
export function findBlock(table: Buffer, ledgerId: number, entryId: number): BlockPlace | undefined {
  let low = 0;
  let high = table.length / blockRowBytes - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const at = middle * blockRowBytes;
    const order = readId(table, at) - ledgerId || readId(table, at + 8) - entryId;
    if (order <= 0) low = middle + 1;
    else high = middle - 1;
  }
  return blockAt(table, high);
}

export function blockAt(table: Buffer, index: number): BlockPlace | undefined {
  const at = index * blockRowBytes;
  if (index < 0 || at >= table.length) return undefined;
  return { index, offset: table.readUInt32BE(at + 16), bytes: table.readUInt32BE(at + 20), crc: table.readUInt32BE(at + 24) };
}

const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** Turns a block, in place, into words of this machine, so that positions can be used where they lie. `block` starts at a multiple of 4 in its memory. */
export function decodeBlock(block: Buffer): Uint32Array {
  if (isLittleEndian) block.swap32();
  return new Uint32Array(block.buffer, block.byteOffset, block.length / 4);
}

const runHeaderWords = runHeaderBytes / 4;

function idAt(words: Uint32Array, at: number): number {
  return (words[at] as number) * 0x1_0000_0000 + (words[at + 1] as number);
}

function countAt(words: Uint32Array, at: number): number {
  return words[at + 4] as number;
}

function wordsOfRun(count: number): number {
  return runBytes(count) / 4;
}

/** The run of a decoded block that holds an entry; its positions are part of the block. */
export function findRun(block: Uint32Array, ledgerId: number, entryId: number): Run | undefined {
  for (let at = 0; at < block.length; at += wordsOfRun(countAt(block, at))) {
    const firstEntryId = idAt(block, at + 2);
    const count = countAt(block, at);
    if (idAt(block, at) === ledgerId && entryId >= firstEntryId && entryId < firstEntryId + count) {
      return { ledgerId, firstEntryId, count, positions: block, at: at + runHeaderWords };
    }
  }
  return undefined;
}

/** Calls `visit` for each run of a ledger in a decoded block; false when the ledger ends in it. */
export function visitRuns(block: Uint32Array, ledgerId: number, visit: (firstEntryId: number, count: number) => void): boolean {
  for (let at = 0; at < block.length; at += wordsOfRun(countAt(block, at))) {
    const id = idAt(block, at);
    if (id > ledgerId) return false;
    if (id === ledgerId) visit(idAt(block, at + 2), countAt(block, at));
  }
  return true;
}

export function decodeLedgerTable(table: Buffer): LedgerRow[] {
  const rows: LedgerRow[] = [];
  for (let at = 0; at < table.length; at += ledgerRowBytes) rows.push(decodeLedgerRow(table, at));
  return rows;
}

/** Calls `visit` for each row of a ledger table, without an object each. */
export function forEachLedgerRow(
  table: Buffer,
  visit: (ledgerId: number, firstEntryId: number, lastEntryId: number, logBytes: number, entriesCount: number) => void,
): void {
  for (let at = 0; at < table.length; at += ledgerRowBytes) {
    visit(readId(table, at), readId(table, at + 8), readId(table, at + 16), readId(table, at + 24), table.readUInt32BE(at + 32));
  }
}

/** Calls `visit` for each run of a decoded block, in order; its positions are part of the block. */
export function forEachRun(block: Uint32Array, visit: (run: Run) => void): void {
  for (let at = 0; at < block.length; at += wordsOfRun(countAt(block, at))) {
    const count = countAt(block, at);
    visit({ ledgerId: idAt(block, at), firstEntryId: idAt(block, at + 2), count, positions: block, at: at + runHeaderWords });
  }
}
