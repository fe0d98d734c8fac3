import {
  type AppendBatch,
  type BookieCode,
  batchBytesDefault,
  type EntryId,
  encodeAppendBatchOfEntries,
  entriesCountMax,
  type LedgerId,
} from '@daybook/proto';
import { ByteBudget, type Clock } from '@daybook/runtime';
import type { BookiePool, PooledBookie } from '../bookie-pool.js';
import type { OwnEntries } from './entry-runs.js';
import { repairErrors } from './errors.js';
import type { RateLimit } from './rate-limit.js';
import type { ReplicaReader } from './replica-reader.js';

export interface CopyDependencies {
  clock: Clock;
  bookies: BookiePool;
  rate: RateLimit;
}

export interface CopyJob {
  ledgerId: LedgerId;
  masterKey: Uint8Array;
  entries: OwnEntries;
  reader: ReplicaReader;
  target: PooledBookie;
  /** Entries asked for at once: about as many as one read gives. */
  entriesPerRead: number;
  stop: AbortSignal;
  onCopied: (copied: { entries: number; bytes: number }) => void;
}

/** Reads under way at a time: while one chunk is sent the next ones come in. */
const readsMax = 3;
/** Sent and not yet acknowledged. */
const unansweredBytesMax = 8 * 1024 * 1024;
const busyRetryMs = 100;
const busyMsMax = 30_000;

interface Chunk {
  ids: readonly EntryId[];
  entries: Promise<Buffer[]>;
}

/**
 * Copies entries, byte for byte, to a bookie: read in chunks from whoever has them, sent as recovery appends (they pass on fenced ledgers, R17) in ascending
 * order, many on the way at a time. Resolves when the target has made all of them durable. Rejects with `REPAIR_ENTRY_UNREADABLE`,
 * `REPAIR_TARGET_FAILED`, `REPAIR_STOPPED`; then what was copied so far stays and does no harm.
 */
export async function copyEntries(dependencies: CopyDependencies, job: CopyJob): Promise<void> {
  const sender = new CopySender(dependencies, job);
  const chunks: Chunk[] = [];
  try {
    for (;;) {
      while (chunks.length < readsMax) {
        const ids = job.entries.take(job.entriesPerRead);
        if (ids.length === 0) break;
        chunks.push({ ids, entries: reading(job, ids) });
      }
      const chunk = chunks[0];
      if (chunk === undefined) break;
      const entries = await chunk.entries;
      await sender.send(entries);
      chunk.ids = chunk.ids.slice(entries.length);
      if (chunk.ids.length === 0) chunks.shift();
      else chunk.entries = reading(job, chunk.ids);
    }
  } finally {
    // Also after a failure: nothing of this job comes after its end.
    await Promise.allSettled(chunks.map((chunk) => chunk.entries));
    await sender.ended();
  }
  sender.check();
}

function reading({ reader }: CopyJob, ids: readonly EntryId[]): Promise<Buffer[]> {
  const entries = reader.read(ids);
  // It may fail long before its turn comes.
  entries.catch(() => undefined);
  return entries;
}

/** Batches on their way to the target. */
class CopySender {
  readonly #d: CopyDependencies;
  readonly #job: CopyJob;
  readonly #budget = new ByteBudget(unansweredBytesMax);
  readonly #open = new Set<Promise<void>>();
  #error: Error | undefined;

  constructor(dependencies: CopyDependencies, job: CopyJob) {
    this.#d = dependencies;
    this.#job = job;
  }

  async send(entries: readonly Buffer[]): Promise<void> {
    for (let from = 0; from < entries.length; ) {
      let bytes = 0;
      let to = from;
      while (to < entries.length && to - from < entriesCountMax && (to === from || bytes + (entries[to] as Buffer).length <= batchBytesDefault)) {
        bytes += (entries[to++] as Buffer).length;
      }
      await this.#sendBatch(entries.slice(from, to), bytes);
      from = to;
    }
  }

  /** Resolves when everything sent was answered. */
  async ended(): Promise<void> {
    await Promise.all(this.#open);
  }

  check(): void {
    if (this.#error !== undefined) throw this.#error;
    if (this.#job.stop.aborted) throw repairErrors.STOPPED();
  }

  async #sendBatch(entries: readonly Buffer[], entryBytes: number): Promise<void> {
    const { ledgerId, masterKey, stop } = this.#job;
    await this.#d.rate.pass({ bytes: entryBytes, entries: entries.length }, stop);
    const batch = encodeAppendBatchOfEntries({ ledgerId, masterKey, isRecovery: true }, entries);
    const bytes = Math.min(batch.bytes.length, unansweredBytesMax);
    await new Promise<void>((granted) => this.#budget.acquireThen(bytes, granted));
    if (this.#error !== undefined || stop.aborted) {
      this.#budget.release(bytes);
      this.check();
    }
    const sent = this.#append(batch).then((code) => {
      this.#open.delete(sent);
      this.#budget.release(bytes);
      if (code === 'OK') this.#job.onCopied({ entries: batch.count, bytes: entryBytes });
      else this.#error ??= repairErrors.TARGET_FAILED(ledgerId, this.#job.target.bookieId, code);
    });
    this.#open.add(sent);
  }

  /** A bookie that is busy is asked again; every other answer ends the copying. */
  async #append(batch: AppendBatch): Promise<BookieCode> {
    const { clock, bookies } = this.#d;
    const { target, stop } = this.#job;
    const deadlineMs = clock.monoMs() + busyMsMax;
    for (;;) {
      const code = await new Promise<BookieCode>((answered) => target.service.append(batch, answered));
      bookies.report(target.bookieId, code);
      if (code !== 'TOO_MANY_REQUESTS' || stop.aborted || clock.monoMs() >= deadlineMs) return code;
      await clock.sleep(busyRetryMs, stop);
    }
  }
}
