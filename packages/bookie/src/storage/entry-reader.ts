import { DaybookError } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import type { BadEntry } from './bad-entries.js';
import { decodeLogRecord, logRecordHeaderBytes } from './entry-log-format.js';
import type { EntryLogs } from './entry-logs.js';
import type { Run } from './index-format.js';
import type { LedgerCache } from './ledger-cache.js';
import type { LedgerMap } from './ledger-map.js';
import type { LogFiles } from './log-files.js';
import type { ReadCache } from './read-cache.js';
import type { WriteCache } from './write-cache.js';

export interface EntryReaderParts {
  writeCache: WriteCache;
  readCache: ReadCache;
  ledgerCache: LedgerCache;
  logs: EntryLogs;
  files: LogFiles;
  map: LedgerMap;
  readAheadBytes: number;
  /** No copy of an entry is what the index says. */
  onBadEntry(bad: FoundBadEntry): void;
  onDamagedIndex(logId: number): void;
}

export type FoundBadEntry = Omit<BadEntry, 'foundAtMs'>;

export type ReadResult = { is: 'entries'; entries: Buffer[] } | { is: 'none' } | { is: 'error'; error: DaybookError };

interface Place {
  logId: number;
  run: Run;
}

/** Reads entries wherever they are: write cache, read cache, entry log. Every entry from a log is checked before it is handed out. */
export class EntryReader {
  readonly #parts: EntryReaderParts;

  constructor(parts: EntryReaderParts) {
    this.#parts = parts;
  }

  /**
   * The entries with these ids (ascending) or a first part of them. `none` only when it is certain that the first is not here; anything doubtful is an
   * `error`. The buffers are the caller's.
   */
  async read(ledgerId: number, entryIds: readonly number[], bytesMax: number): Promise<ReadResult> {
    const out: Output = { entries: [], bytes: 0, bytesMax };
    let next = 0;
    while (next < entryIds.length && !out.isFull) {
      const entryId = entryIds[next] as number;
      const step = this.#fromMemory(ledgerId, entryId, out) ?? (await this.#fromLog(ledgerId, entryIds, next, out));
      if (step.is === 'taken') next += step.count;
      else if (step.is === 'full') break;
      else if (out.entries.length === 0) return step;
      else break;
    }
    if (next > 0) this.#parts.readCache.noteRead(ledgerId, entryIds[next - 1] as number);
    return { is: 'entries', entries: out.entries };
  }

  /** Whether an entry is there and intact, wherever its newest copy is; what was read ahead does not count. */
  async isIntact(ledgerId: number, entryId: number): Promise<boolean> {
    return this.#parts.writeCache.find(ledgerId, entryId) !== undefined || this.isIntactInLogs(ledgerId, entryId);
  }

  /** The same of what is in entry logs, and so does not depend on the journal any more. */
  async isIntactInLogs(ledgerId: number, entryId: number): Promise<boolean> {
    return (await this.#fromLog(ledgerId, [entryId], 0, { entries: [], bytes: 0, bytesMax: 0 })).is === 'taken';
  }

  #fromMemory(ledgerId: number, entryId: number, out: Output): Step | undefined {
    const cached = this.#parts.writeCache.find(ledgerId, entryId);
    if (cached !== undefined) return take(out, Buffer.from(cached.bytes.subarray(cached.start, cached.end)));
    const record = this.#parts.readCache.find(ledgerId, entryId);
    if (record === undefined) return undefined;
    const entry = decodeLogRecord(record, ledgerId, entryId);
    // What was read ahead is checked only now; when it is bad, the log is asked again.
    return entry === undefined ? undefined : take(out, Buffer.from(entry));
  }

  async #fromLog(ledgerId: number, entryIds: readonly number[], from: number, out: Output): Promise<Step> {
    const { logs, onBadEntry } = this.#parts;
    for (;;) {
      const { changesCount } = logs;
      const step = await this.#tryLogs(ledgerId, entryIds, from, out);
      if (step.is === 'taken' || step.is === 'full') return step;
      // Where a log went away meanwhile, the entry may have been moved to another one, past where was looked.
      if (logs.changesCount !== changesCount) continue;
      if (step.is === 'error' && step.bad !== undefined) onBadEntry(step.bad);
      if (step.is === 'error' || !logs.hasDamaged) return step;
      return { is: 'error', error: bookieErrors.LOG_DAMAGED('an entry log', `entry ${entryIds[from]} may be in it`) };
    }
  }

  /** Newest first. Of an entry that was written again, an older copy will do when the newest is damaged, and the other way round. */
  async #tryLogs(ledgerId: number, entryIds: readonly number[], from: number, out: Output): Promise<Step> {
    const { logs, map } = this.#parts;
    const entryId = entryIds[from] as number;
    // In one turn: what is not in one of these is in one of those.
    const open = logs.findOpen(ledgerId, entryId);
    const sealed = map.logsWith(ledgerId, entryId);
    let failure: FailedStep | undefined;
    const places = sealed.catch((error: unknown) => {
      if (!(error instanceof DaybookError)) throw error;
      // Nobody knows in which of them it may be.
      failure = { is: 'error', error };
      return [];
    });
    for (const some of [open, places]) {
      for (const place of await some) {
        const step = await this.#fromPlace(place, ledgerId, entryIds, from, out);
        if (step?.is === 'error') failure ??= step;
        else if (step !== undefined) return step;
      }
    }
    return failure ?? { is: 'none' };
  }

  /** Undefined when the entry is not in this log. */
  async #fromPlace(place: Place | number, ledgerId: number, entryIds: readonly number[], from: number, out: Output): Promise<Step | undefined> {
    const { logs, ledgerCache, onDamagedIndex } = this.#parts;
    try {
      if (typeof place !== 'number') return await this.#readRun(place, entryIds, from, out);
      let run: Run | undefined;
      try {
        run = await ledgerCache.find(logs.sealedIndex(place), ledgerId, entryIds[from] as number);
      } catch (error) {
        if (bookieErrors.LOG_DAMAGED.is(error) && logs.has(place)) onDamagedIndex(place);
        throw error;
      }
      return run && (await this.#readRun({ logId: place, run }, entryIds, from, out));
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      return { is: 'error', error };
    }
  }

  /** One disk read for the entries asked for that follow one another in the run, and for what comes next when the reader goes through the ledger. */
  async #readRun({ logId, run }: Place, entryIds: readonly number[], from: number, out: Output): Promise<Step> {
    const { files, readCache } = this.#parts;
    const first = (entryIds[from] as number) - run.firstEntryId;
    const wanted = wantedEnd(run, entryIds, from, out);
    const ahead = this.#aheadEnd(run, first, wanted);
    const positions = run.positions.subarray(run.at + first, run.at + ahead + 1);
    const start = positions[0] as number;
    const bytes = Buffer.allocUnsafeSlow((positions[ahead - first] as number) - start);
    const read = await files.read(files.logPath(logId), start, bytes);
    const isShared = ahead > wanted && read === bytes.length;
    if (isShared) {
      // Positions as a copy, as those of the run may be a part of something larger.
      readCache.add({ ledgerId: run.ledgerId, firstEntryId: run.firstEntryId + first, positions: positions.slice(), bytes });
    }
    for (let i = 0; i < wanted - first; i++) {
      const entryId = run.firstEntryId + first + i;
      const end = (positions[i + 1] as number) - start;
      const record = bytes.subarray((positions[i] as number) - start, end);
      const entry = end <= read ? decodeLogRecord(record, run.ledgerId, entryId) : undefined;
      if (entry === undefined) {
        if (i > 0) return { is: 'taken', count: i };
        const bad = { ledgerId: run.ledgerId, entryId, logId, position: positions[i] as number };
        return { is: 'error', error: damaged(files.logPath(logId), bad), bad };
      }
      const step = take(out, isShared ? Buffer.from(entry) : entry);
      if (step.is !== 'taken') return i > 0 ? { is: 'taken', count: i } : step;
    }
    return { is: 'taken', count: wanted - first };
  }

  /** How far to read, as an index in the run: behind what is wanted only for those who read on and on. */
  #aheadEnd(run: Run, first: number, wanted: number): number {
    const { readCache, readAheadBytes } = this.#parts;
    if (wanted - first === 1 && !readCache.isSequential(run.ledgerId, run.firstEntryId + first)) return wanted;
    const limit = (run.positions[run.at + wanted] as number) + readAheadBytes;
    let ahead = wanted;
    while (ahead < run.count && (run.positions[run.at + ahead + 1] as number) <= limit) ahead++;
    return ahead;
  }
}

/** The index in the run after the last entry that is asked for without a gap, and fits into the reply. */
function wantedEnd(run: Run, entryIds: readonly number[], from: number, out: Output): number {
  const first = (entryIds[from] as number) - run.firstEntryId;
  const start = run.positions[run.at + first] as number;
  let end = first + 1;
  while (end < run.count && entryIds[from + end - first] === run.firstEntryId + end) {
    const entriesBytes = (run.positions[run.at + end + 1] as number) - start - (end + 1 - first) * logRecordHeaderBytes;
    if (out.bytes + entriesBytes > out.bytesMax) break;
    end++;
  }
  return end;
}

function damaged(path: string, { entryId, ledgerId, position }: FoundBadEntry): DaybookError {
  return bookieErrors.LOG_DAMAGED(path, `entry ${entryId} of ledger ${ledgerId} at ${position}`);
}

interface Output {
  entries: Buffer[];
  bytes: number;
  bytesMax: number;
  isFull?: boolean;
}

interface FailedStep {
  is: 'error';
  error: DaybookError;
  /** When it is the entry itself that is damaged. */
  bad?: FoundBadEntry;
}

type Step = { is: 'taken'; count: number } | { is: 'full' } | { is: 'none' } | FailedStep;

/** Adds an entry unless the reply is full; the first always goes in. */
function take(out: Output, entry: Buffer): Step {
  if (out.entries.length > 0 && out.bytes + entry.length > out.bytesMax) {
    out.isFull = true;
    return { is: 'full' };
  }
  out.entries.push(entry);
  out.bytes += entry.length;
  return { is: 'taken', count: 1 };
}
