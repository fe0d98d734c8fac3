import { DaybookError } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { decodeLogRecord, logRecordHeaderBytes } from './entry-log-format.js';
import type { EntryLogs } from './entry-logs.js';
import type { Run } from './index-format.js';
import type { LedgerCache } from './ledger-cache.js';
import type { LedgerStates } from './ledger-state.js';
import type { LogFiles } from './log-files.js';
import type { ReadCache } from './read-cache.js';
import type { WriteCache } from './write-cache.js';

export interface EntryReaderParts {
  writeCache: WriteCache;
  readCache: ReadCache;
  ledgerCache: LedgerCache;
  logs: EntryLogs;
  files: LogFiles;
  states: LedgerStates;
  readAheadBytes: number;
}

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
    const entryId = entryIds[from] as number;
    try {
      const place = await this.#locate(ledgerId, entryId);
      if (place !== undefined) return await this.#readRun(place, entryIds, from, out);
      if (this.#parts.logs.hasDamaged) return { is: 'error', error: bookieErrors.LOG_DAMAGED('an entry log', `entry ${entryId} may be in it`) };
      return { is: 'none' };
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      return { is: 'error', error };
    }
  }

  async #locate(ledgerId: number, entryId: number): Promise<Place | undefined> {
    const { logs, ledgerCache, states } = this.#parts;
    const open = logs.current;
    const run = open?.index.find(ledgerId, entryId);
    if (open !== undefined && run !== undefined) return { logId: open.logId, run };
    for (const logId of states.logsWith(ledgerId, entryId)) {
      const sealed = await ledgerCache.find(logs.sealedIndex(logId), ledgerId, entryId);
      if (sealed !== undefined) return { logId, run: sealed };
    }
    return undefined;
  }

  /** One disk read for the entries asked for that follow one another in the run, and for what comes next when the reader goes through the ledger. */
  async #readRun({ logId, run }: Place, entryIds: readonly number[], from: number, out: Output): Promise<Step> {
    const { files, readCache, readAheadBytes } = this.#parts;
    const first = (entryIds[from] as number) - run.firstEntryId;
    const positionOf = (index: number): number => run.positions[run.at + index] as number;
    const start = positionOf(first);
    let wanted = first + 1;
    while (entryIds[from + wanted - first] === run.firstEntryId + wanted && wanted < run.count) {
      if (positionOf(wanted + 1) - start - (wanted + 1 - first) * logRecordHeaderBytes + out.bytes > out.bytesMax) break;
      wanted++;
    }
    let ahead = wanted;
    if (readCache.isSequential(run.ledgerId, run.firstEntryId + first) || wanted - first > 1) {
      while (ahead < run.count && positionOf(ahead + 1) - positionOf(wanted) <= readAheadBytes) ahead++;
    }
    const bytes = Buffer.allocUnsafeSlow(positionOf(ahead) - start);
    const read = await files.read(files.logPath(logId), start, bytes);
    if (read < positionOf(wanted) - start) return { is: 'error', error: bookieErrors.LOG_DAMAGED(files.logPath(logId), `it ends before ${start}`) };
    const isShared = ahead > wanted && read === bytes.length;
    if (isShared) {
      // A copy, as the run's positions may be a part of something larger.
      const positions = run.positions.slice(run.at + first, run.at + ahead + 1);
      readCache.add({ ledgerId: run.ledgerId, firstEntryId: run.firstEntryId + first, positions, bytes });
    }
    for (let index = first; index < wanted; index++) {
      const entryId = run.firstEntryId + index;
      const entry = decodeLogRecord(bytes.subarray(positionOf(index) - start, positionOf(index + 1) - start), run.ledgerId, entryId);
      if (entry === undefined) {
        if (index > first) return { is: 'taken', count: index - first };
        const where = `entry ${entryId} of ledger ${run.ledgerId} at ${positionOf(index)}`;
        return { is: 'error', error: bookieErrors.LOG_DAMAGED(files.logPath(logId), where) };
      }
      if (take(out, isShared ? Buffer.from(entry) : entry).is === 'full')
        return index > first ? { is: 'taken', count: index - first } : { is: 'full' };
    }
    return { is: 'taken', count: wanted - first };
  }
}

interface Output {
  entries: Buffer[];
  bytes: number;
  bytesMax: number;
  isFull?: boolean;
}

type Step = { is: 'taken'; count: number } | { is: 'full' } | { is: 'none' } | { is: 'error'; error: DaybookError };

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
