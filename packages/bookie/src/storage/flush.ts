import type { OpenLog } from './entry-log.js';
import { encodeLogRecord, logHeaderBytes, logRecordHeaderBytes } from './entry-log-format.js';
import type { EntryLogs } from './entry-logs.js';
import { RunBuilder } from './run-builder.js';
import type { WriteCacheHalf } from './write-cache.js';

export interface FlushLimits {
  /** A log is sealed before it gets larger than this. */
  logBytesMax: number;
  /** ... or before its index in memory does. */
  openIndexBytesMax: number;
}

const bufferBytesMax = 1 << 20;

/**
 * Writes a half of the write cache to the entry log, sorted by (ledger, entry), and makes it durable and findable: two syncs, however many ledgers
 * there are (more when it is much, and those of sealing when a log fills up). Rejects with `DISK_FULL` when it may be tried again; what was committed before stays, and is
 * then written once more. `isWanted` says whether a ledger still exists.
 */
export async function flushHalf(half: WriteCacheHalf, logs: EntryLogs, limits: FlushLimits, isWanted: (ledgerId: number) => boolean): Promise<void> {
  const bufferBytes = Math.min(bufferBytesMax, half.bytes + half.entriesCount * logRecordHeaderBytes);
  const writer = new LogWriter(logs, limits, bufferBytes);
  const entries = new EntryColumns();
  try {
    for (const ledgerId of half.ledgerIds()) {
      if (!isWanted(ledgerId)) continue;
      entries.count = 0;
      half.visit(ledgerId, entries.push);
      for (let i = 0; i < entries.count; i++) {
        const entry = { source: entries.sources[i] as Buffer, start: entries.starts[i] as number, end: entries.ends[i] as number };
        if (!writer.add(ledgerId, entries.ids[i] as number, entry)) {
          await writer.makeRoom(entry.end - entry.start + logRecordHeaderBytes);
          writer.add(ledgerId, entries.ids[i] as number, entry);
        }
      }
    }
    await writer.commit();
  } catch (error) {
    await logs.rollBack();
    throw error;
  }
}

/** The entries of one ledger, as columns that are used again for the next. */
class EntryColumns {
  count = 0;
  readonly ids: number[] = [];
  readonly sources: Buffer[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly push = (id: number, source: Buffer, start: number, end: number): void => {
    this.ids[this.count] = id;
    this.sources[this.count] = source;
    this.starts[this.count] = start;
    this.ends[this.count++] = end;
  };
}

/** Fills one buffer after another with records, and notes where they go. */
class LogWriter {
  readonly #logs: EntryLogs;
  readonly #limits: FlushLimits;
  #log: OpenLog | undefined;
  #buffer: Buffer;
  #used = 0;
  #runs = new RunBuilder();

  constructor(logs: EntryLogs, limits: FlushLimits, bufferBytes: number) {
    this.#logs = logs;
    this.#limits = limits;
    this.#buffer = Buffer.allocUnsafeSlow(bufferBytes);
  }

  /** False when there is no room: {@link makeRoom} first. */
  add(ledgerId: number, entryId: number, entry: { source: Buffer; start: number; end: number }): boolean {
    const bytes = entry.end - entry.start + logRecordHeaderBytes;
    const log = this.#log;
    if (log === undefined || this.#used + bytes > this.#buffer.length || this.#isFull(log, bytes)) return false;
    const position = log.writtenTo + this.#used;
    this.#used = encodeLogRecord(this.#buffer, this.#used, entry);
    this.#runs.add(ledgerId, entryId, position, position + bytes);
    return true;
  }

  /** Writes out the buffer, and goes on with another log when this one is full. */
  async makeRoom(bytes: number): Promise<void> {
    await this.#writeBuffer();
    if (bytes > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(bytes);
    this.#log ??= await this.#logs.open();
    if (!this.#isFull(this.#log, bytes)) return;
    await this.commit();
    await this.#logs.seal();
    this.#log = await this.#logs.open();
  }

  async commit(): Promise<void> {
    await this.#writeBuffer();
    const runs = this.#runs.finish();
    if (this.#log !== undefined && runs.length > 0) await this.#log.commit(runs);
    this.#runs = new RunBuilder();
  }

  #isFull(log: OpenLog, bytes: number): boolean {
    const end = log.writtenTo + this.#used;
    if (end === logHeaderBytes) return false;
    return end + bytes > this.#limits.logBytesMax || log.index.bytes + this.#runs.bytes > this.#limits.openIndexBytesMax;
  }

  async #writeBuffer(): Promise<void> {
    if (this.#used === 0) return;
    await (this.#log as OpenLog).write(this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }
}
