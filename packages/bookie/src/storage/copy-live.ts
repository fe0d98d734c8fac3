import { bookieErrors } from '../errors.js';
import type { LogExtent } from './checkpoint-format.js';
import { isLogRecord } from './entry-log-format.js';
import type { Run } from './index-format.js';
import { forEachRun } from './index-table.js';
import type { LedgerCache } from './ledger-cache.js';
import type { LogFiles } from './log-files.js';
import { RunBuilder } from './run-builder.js';

export interface CopyOptions {
  source: LogExtent;
  /** Where the next record goes in the log that is written. */
  position(): number;
  write(records: Buffer): Promise<void>;
  cache: LedgerCache;
  files: LogFiles;
  hasLedger(ledgerId: number): boolean;
  /** Asked for a damaged entry: whether there is another copy of it, intact and durable. */
  hasOtherCopy(ledgerId: number, entryId: number): Promise<boolean>;
  /** Read and written at once. */
  chunkBytesMax: number;
  chunkEntriesMax: number;
  /** Called before each chunk; false ends the copying. */
  pace(chunk: { entries: number; bytes: number }): Promise<boolean>;
}

export interface Copied {
  /** Of the target, to be committed. */
  runs: Run[];
  entries: number;
  bytes: number;
  /** Ledgers of the source that did not exist when it was gone through: their entries were left out. */
  skipped: ReadonlySet<number>;
}

/** A gap between two live entries up to this is read rather than jumped over. */
const gapBytesMax = 64 * 1024;

/**
 * Appends the entries of ledgers that exist from a sealed log to an open one, in the order they lie there, each checked; to be committed by the caller.
 * A damaged entry of which another copy is intact is left out; at any other one, or a damaged index block, it rejects with `BOOKIE_LOG_DAMAGED`. Resolves to
 * undefined when `pace` ended it.
 */
export async function copyLive(options: CopyOptions): Promise<Copied | undefined> {
  const { source, files } = options;
  const { runs, skipped } = await liveRuns(options);
  const built = new RunBuilder();
  const path = files.logPath(source.logId);
  let entries = 0;
  let bytes = 0;
  let read = Buffer.alloc(0);
  let write = Buffer.alloc(0);
  for (const chunk of chunksOf(runs, options)) {
    const chunkBytes = chunk.end - chunk.start;
    if (!(await options.pace({ entries: chunk.entries, bytes: chunkBytes }))) return undefined;
    if (read.length < chunkBytes) {
      read = Buffer.allocUnsafeSlow(chunkBytes);
      write = Buffer.allocUnsafeSlow(chunkBytes);
    }
    const there = await files.read(path, chunk.start, read.subarray(0, chunkBytes));
    const { used, damaged } = copyChunk(chunk, { read: read.subarray(0, there), write, position: options.position(), built });
    for (const { ledgerId, entryId, position } of damaged) {
      if (await options.hasOtherCopy(ledgerId, entryId)) continue;
      throw bookieErrors.LOG_DAMAGED(path, `entry ${entryId} of ledger ${ledgerId} at ${position}`);
    }
    await options.write(write.subarray(0, used));
    entries += chunk.entries;
    bytes += used;
  }
  return { runs: built.finish(), entries, bytes, skipped };
}

/** The runs to keep, as they lie in the log. All of the index is in memory meanwhile; it is bounded (`openIndexBytesMax`). */
async function liveRuns({ cache, source, hasLedger }: CopyOptions): Promise<{ runs: Run[]; skipped: Set<number> }> {
  const runs: Run[] = [];
  const skipped = new Set<number>();
  for await (const block of cache.blocks(source)) {
    forEachRun(block, (run) => {
      if (hasLedger(run.ledgerId)) runs.push(run);
      else skipped.add(run.ledgerId);
    });
  }
  runs.sort((a, b) => startOf(a) - startOf(b));
  // A ledger that came into being while the index was read counts as left out as well: some of it may have been.
  return { runs, skipped };
}

function startOf(run: Run): number {
  return run.positions[run.at] as number;
}

interface Chunk {
  start: number;
  end: number;
  entries: number;
  /** Runs and parts of runs, in the order of the log. */
  runs: Run[];
}

/** Cuts runs into pieces to read at once: bounded in bytes (unless a single entry is larger) and entries, without large gaps. */
export function* chunksOf(runs: readonly Run[], limits: { chunkBytesMax: number; chunkEntriesMax: number }): Generator<Chunk> {
  const { chunkBytesMax, chunkEntriesMax } = limits;
  let chunk: Chunk | undefined;
  for (const run of runs) {
    const positionOf = (index: number): number => run.positions[run.at + index] as number;
    for (let from = 0; from < run.count; ) {
      const start = positionOf(from);
      if (chunk !== undefined) {
        const isFull = chunk.entries >= chunkEntriesMax || positionOf(from + 1) - chunk.start > chunkBytesMax;
        if (isFull || start - chunk.end > gapBytesMax) {
          yield chunk;
          chunk = undefined;
        }
      }
      chunk ??= { start, end: start, entries: 0, runs: [] };
      let until = from + 1;
      const untilMax = Math.min(run.count, from + chunkEntriesMax - chunk.entries);
      while (until < untilMax && positionOf(until + 1) - chunk.start <= chunkBytesMax) until++;
      chunk.runs.push({ ...run, firstEntryId: run.firstEntryId + from, count: until - from, at: run.at + from });
      chunk.end = positionOf(until);
      chunk.entries += until - from;
      from = until;
    }
  }
  if (chunk !== undefined) yield chunk;
}

interface DamagedRecord {
  ledgerId: number;
  entryId: number;
  position: number;
}

/** Checks the records of a chunk and puts the intact ones one behind another. */
function copyChunk(
  chunk: Chunk,
  to: { read: Buffer; write: Buffer; position: number; built: RunBuilder },
): { used: number; damaged: DamagedRecord[] } {
  let used = 0;
  const damaged: DamagedRecord[] = [];
  const record = { start: 0, end: 0 };
  /** Of the intact records that were not copied yet: they lie one behind another. */
  let from = 0;
  const copyUpTo = (end: number): void => {
    if (end > from) used += to.read.copy(to.write, used, from, end);
  };
  for (const { ledgerId, firstEntryId, count, positions, at } of chunk.runs) {
    for (let i = 0; i < count; i++) {
      const start = (positions[at + i] as number) - chunk.start;
      if (start !== record.end) {
        copyUpTo(record.end);
        from = start;
      }
      record.start = start;
      record.end = (positions[at + i + 1] as number) - chunk.start;
      if (!isLogRecord(to.read, record, ledgerId, firstEntryId + i)) {
        damaged.push({ ledgerId, entryId: firstEntryId + i, position: chunk.start + start });
        copyUpTo(start);
        from = record.end;
        continue;
      }
      const position = to.position + used + start - from;
      to.built.add(ledgerId, firstEntryId + i, position, position + record.end - start);
    }
  }
  copyUpTo(record.end);
  return { used, damaged };
}
