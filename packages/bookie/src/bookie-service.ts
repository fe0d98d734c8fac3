import type {
  AppendBatch,
  BookieCode,
  BookieId,
  BookieInfoReply,
  BookieService,
  EntryId,
  FenceRequest,
  LacReply,
  LedgerId,
  ListEntriesReply,
  ReadReply,
  ReadRequest,
} from '@daybook/proto';
import { type Clock, DaybookError, type Disk, type Logger } from '@daybook/runtime';
import { type AppendPath, refuse } from './append-path.js';
import type { BookieMetrics } from './bookie-metrics.js';
import type { Fences } from './fences.js';
import type { LedgerStorage } from './storage/ledger-storage.js';

/** starting -> running -> closing -> closed; failed from any but closed. Only `running` answers. */
export type BookieState = 'starting' | 'running' | 'closing' | 'closed' | 'failed';

export interface StoredBookieParts {
  bookieId: BookieId;
  storage: LedgerStorage;
  appends: AppendPath;
  fences: Fences;
  disk: Disk;
  clock: Clock;
  ledgerDirectories: readonly string[];
  readReplyBytesMax: number;
  state(): BookieState;
  metrics: BookieMetrics | undefined;
  logger: Logger;
}

/** The bookie's service over its own journal and storage. */
export class StoredBookie implements BookieService {
  readonly bookieId: BookieId;
  readonly #parts: StoredBookieParts;

  constructor(parts: StoredBookieParts) {
    this.bookieId = parts.bookieId;
    this.#parts = parts;
  }

  append(batch: AppendBatch, done: (code: BookieCode) => void): void {
    const { appends, metrics, clock } = this.#parts;
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      refuse(refusal, done);
      return;
    }
    if (metrics === undefined) {
      appends.append(batch, done);
      return;
    }
    const startMs = clock.monoMs();
    const bytes = batch.bytes.length;
    appends.append(batch, (code) => {
      metrics.noteAppend({ code, durationMs: clock.monoMs() - startMs, entries: batch.count, bytes });
      done(code);
    });
  }

  async read(request: ReadRequest): Promise<ReadReply> {
    const { ledgerId, entryIds, fenceWithKey } = request;
    const refusal = this.#refusal();
    if (refusal !== undefined) return { code: refusal, entries: [] };
    if (!ascends(entryIds)) return { code: 'BAD_REQUEST', entries: [] };
    if (fenceWithKey !== undefined) {
      const code = await this.#parts.fences.fence(ledgerId, fenceWithKey);
      if (code !== 'OK') return { code, entries: [] };
    }
    return this.#readEntries(ledgerId, entryIds, request.bytesMax);
  }

  async fence({ ledgerId, masterKey }: FenceRequest): Promise<LacReply> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return { code: refusal };
    const code = await this.#parts.fences.fence(ledgerId, masterKey);
    return code === 'OK' ? this.readLac(ledgerId) : { code };
  }

  async readLac(ledgerId: LedgerId): Promise<LacReply> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return { code: refusal };
    const { storage } = this.#parts;
    if (!storage.states.has(ledgerId)) return { code: 'NO_LEDGER' };
    const last = storage.lastEntryId(ledgerId);
    if (last < 0) return { code: storage.hasDamagedLogs ? 'IO_ERROR' : 'NO_ENTRY' };
    const { code, entries } = await this.#readEntries(ledgerId, [last as EntryId], 0);
    const lastEntry = entries[0];
    if (lastEntry !== undefined) return { code, lastEntry };
    // An entry that was just known to be here is not "absent" (rule R4).
    return { code: code === 'NO_ENTRY' ? 'IO_ERROR' : code };
  }

  async listEntries(ledgerId: LedgerId): Promise<ListEntriesReply> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return { code: refusal, runs: [] };
    const { storage } = this.#parts;
    if (!storage.states.has(ledgerId)) return { code: 'NO_LEDGER', runs: [] };
    try {
      const runs = await storage.listEntries(ledgerId);
      if (storage.hasDamagedLogs) return { code: 'IO_ERROR', runs: [] };
      return { code: 'OK', runs: runs.map(({ first, last }) => ({ first: first as EntryId, last: last as EntryId })) };
    } catch (error) {
      return { code: this.#ioError(error, ledgerId), runs: [] };
    }
  }

  async info(): Promise<BookieInfoReply> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return { code: refusal, totalBytes: 0, freeBytes: 0 };
    const reply: BookieInfoReply = { code: 'OK', totalBytes: 0, freeBytes: 0 };
    try {
      for (const directory of this.#parts.ledgerDirectories) {
        const usage = await this.#parts.disk.usage(directory);
        reply.totalBytes += usage.totalBytes;
        reply.freeBytes += usage.freeBytes;
      }
      return reply;
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      return { code: 'IO_ERROR', totalBytes: 0, freeBytes: 0 };
    }
  }

  async #readEntries(ledgerId: LedgerId, entryIds: readonly EntryId[], bytesMax: number): Promise<ReadReply> {
    const { storage, metrics, clock, readReplyBytesMax } = this.#parts;
    const startMs = metrics === undefined ? 0 : clock.monoMs();
    if (!storage.states.has(ledgerId)) return { code: 'NO_LEDGER', entries: [] };
    const result = await storage.read(ledgerId, entryIds, Math.min(bytesMax, readReplyBytesMax));
    const reply: ReadReply =
      result.is === 'entries'
        ? { code: 'OK', entries: result.entries }
        : { code: result.is === 'none' ? 'NO_ENTRY' : this.#ioError(result.error, ledgerId), entries: [] };
    metrics?.noteRead({ code: reply.code, durationMs: clock.monoMs() - startMs, entries: reply.entries });
    return reply;
  }

  #ioError(error: unknown, ledgerId: LedgerId): BookieCode {
    if (!(error instanceof DaybookError)) throw error;
    this.#parts.logger.error({ ledgerId, error }, 'entries cannot be read');
    return 'IO_ERROR';
  }

  /** Why nothing is answered now. A bookie that failed may still hold entries, so this is never a negative. */
  #refusal(): BookieCode | undefined {
    const state = this.#parts.state();
    if (state === 'running') return undefined;
    return state === 'failed' ? 'IO_ERROR' : 'UNAVAILABLE';
  }
}

function ascends(entryIds: readonly EntryId[]): boolean {
  for (let i = 0; i < entryIds.length; i++) {
    const id = entryIds[i] as number;
    if (!Number.isSafeInteger(id) || id < 0 || (i > 0 && id <= (entryIds[i - 1] as number))) return false;
  }
  return entryIds.length > 0;
}
