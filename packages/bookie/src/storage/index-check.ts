import { crc32c } from '@daybook/runtime';
import { logHeaderBytes } from './entry-log-format.js';
import { decodeFrame, decodeIndexHeader, decodeRuns, decodeTrailer, indexHeaderBytes, type Run, type Trailer, trailerBytes } from './index-format.js';
import { type BlockPlace, blockAt } from './index-table.js';

/** What the bytes of an index say about its log, and what is wrong with them. */
export interface CheckedIndex {
  /** Every entry of the log, in the order of their places; only what could be read of a damaged index, and then also twice. */
  runs: Run[];
  /** The first thing that is wrong. */
  damage: string | undefined;
}

/**
 * Checks every byte of an index file: header, frames and, when the log is sealed, blocks, both tables and trailer, all of them without a gap in between; and
 * that the frames cover the log from its header to its end, but for what a rebuilt index knows to be lost.
 */
export function checkIndex(bytes: Buffer, log: { logId: number; logBytes: number; isSealed: boolean }, path: string): CheckedIndex {
  const check = new IndexCheck(bytes, log);
  if (decodeIndexHeader(bytes, path) !== log.logId) check.note('its header');
  const framesEnd = check.frames();
  if (!log.isSealed) {
    if (framesEnd !== bytes.length) check.note(`the frame at ${framesEnd}`);
    check.coverage(0);
    return check;
  }
  const trailer = decodeTrailer(bytes.subarray(bytes.length - trailerBytes), log.logId);
  if (trailer === undefined) {
    check.note('its trailer');
    return check;
  }
  check.table(trailer, framesEnd);
  check.coverage(trailer.holeBytes);
  return check;
}

class IndexCheck implements CheckedIndex {
  readonly #bytes: Buffer;
  readonly #log: { logId: number; logBytes: number };
  readonly runs: Run[] = [];
  damage: string | undefined;

  constructor(bytes: Buffer, log: { logId: number; logBytes: number }) {
    this.#bytes = bytes;
    this.#log = log;
  }

  note(damage: string): void {
    this.damage ??= damage;
  }

  /** Where the frames end; in a damaged one they seem to end early. */
  frames(): number {
    let at = indexHeaderBytes;
    let logBytes = logHeaderBytes;
    for (;;) {
      const frame = decodeFrame(this.#bytes, at, this.#log.logId);
      if (frame === undefined) return at;
      if (frame.info.logBytesBefore !== logBytes) this.note(`the frame at ${at} does not continue the one before`);
      for (const run of frame.runs) this.runs.push(run);
      logBytes = frame.info.logBytesAfter;
      at = frame.end;
    }
  }

  table({ blocks, ledgers, logBytes }: Trailer, framesEnd: number): void {
    const bytes = this.#bytes;
    const table = bytes.subarray(blocks.offset, blocks.offset + blocks.bytes);
    const ledgerTable = bytes.subarray(ledgers.offset, ledgers.offset + ledgers.bytes);
    if (logBytes !== this.#log.logBytes) this.note('its trailer is about another length of the log');
    if (crc32c(ledgerTable) !== ledgers.crc) this.note('its ledger table');
    if (ledgers.offset !== blocks.offset + blocks.bytes || ledgers.offset + ledgers.bytes + trailerBytes !== bytes.length)
      this.note('its tables do not fit');
    if (crc32c(table) !== blocks.crc) {
      this.note('its block table');
      return;
    }
    let end = blockAt(table, 0)?.offset ?? blocks.offset;
    if (end !== framesEnd) this.note(`the frame at ${framesEnd}`);
    for (let i = 0; ; i++) {
      const block = blockAt(table, i);
      if (block === undefined) break;
      if (block.offset !== end) this.note(`block ${i} is not where the one before ends`);
      end = block.offset + block.bytes;
      this.#block(block);
    }
    if (end !== blocks.offset) this.note('its blocks do not fit');
  }

  /** Whether every byte of the log belongs to exactly one entry, but for those that are known to be lost. */
  coverage(holeBytes: number): void {
    if (this.damage !== undefined) return;
    let end = logHeaderBytes;
    let missing = 0;
    for (const { positions, at, count } of this.runs) {
      const start = positions[at] as number;
      if (start < end) {
        this.note(`it names the bytes of the log before ${end} twice`);
        return;
      }
      missing += start - end;
      end = positions[at + count] as number;
    }
    missing += this.#log.logBytes - end;
    if (missing !== holeBytes) this.note(`it says nothing of ${missing} bytes of the log, ${holeBytes} are known to be lost`);
  }

  #block(block: BlockPlace): void {
    const part = this.#bytes.subarray(block.offset, block.offset + block.bytes);
    const runs = crc32c(part) === block.crc ? decodeRuns(part, 0, part.length) : undefined;
    if (runs === undefined) this.note(`block ${block.index}`);
    // They only say again what the frames said, unless those are damaged.
    else if (this.damage !== undefined) for (const run of runs) this.runs.push(run);
  }
}
