import {
  type AppendBatch,
  type AwaitLacReply,
  type AwaitLacRequest,
  awaitLacTimeoutMsMax,
  type BookieCode,
  type BookieId,
  type BookieInfoReply,
  type BookieService,
  type CodeReply,
  type EntryId,
  type FenceRequest,
  type ForceRequest,
  isNegative,
  type LacReply,
  type LedgerId,
  type ListEntriesReply,
  type ReadReply,
  type ReadRequest,
  type WriteLacRequest,
} from '@daybook/proto';
import { type Clock, DaybookError, type Logger } from '@daybook/runtime';
import { type AppendPath, answerSoon } from './append-path.js';
import type { BookieMetrics } from './bookie-metrics.js';
import type { Fences } from './fences.js';
import { type Lacs, lacOfReply } from './lacs.js';
import type { Limbo } from './limbo/limbo.js';
import type { ReadOnlyMode } from './read-only-mode.js';
import type { DiskMonitor } from './storage/disk-monitor.js';
import type { LedgerStorage } from './storage/ledger-storage.js';

/** starting -> running -> closing -> closed; failed from any but closed. Only `running` answers. */
export type BookieState = 'starting' | 'running' | 'closing' | 'closed' | 'failed';

export interface StoredBookieParts {
  bookieId: BookieId;
  storage: LedgerStorage;
  appends: AppendPath;
  fences: Fences;
  lacs: Lacs;
  clock: Clock;
  disks: DiskMonitor;
  readOnly: ReadOnlyMode;
  limbo: Pick<Limbo, 'has'>;
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
      answerSoon(refusal, done);
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
    const explicitLac = this.#parts.lacs.explicitLac(ledgerId);
    const reply = await this.#newestEntry(ledgerId);
    return explicitLac === undefined ? reply : { ...reply, explicitLac };
  }

  async #newestEntry(ledgerId: LedgerId): Promise<LacReply> {
    const { storage } = this.#parts;
    if (!storage.states.has(ledgerId)) return { code: this.#absent('NO_LEDGER', ledgerId) };
    let last: number;
    try {
      last = await storage.lastEntryId(ledgerId);
    } catch (error) {
      return { code: this.#ioError(error, ledgerId) };
    }
    if (last < 0) return { code: this.#absent('NO_ENTRY', ledgerId) };
    const { code, entries } = await this.#readEntries(ledgerId, [last as EntryId], 0);
    const lastEntry = entries[0];
    if (lastEntry !== undefined) return { code, lastEntry };
    // An entry that was just known to be here is not "absent" (rule R4).
    return { code: isNegative(code) ? 'IO_ERROR' : code };
  }

  async awaitLac(request: AwaitLacRequest, stop?: AbortSignal): Promise<AwaitLacReply> {
    const { ledgerId, after, withEntry } = request;
    const wait = this.#parts.lacs.newWait(ledgerId, after);
    if (wait === undefined) return { code: 'TOO_MANY_REQUESTS' };
    try {
      let reply = await this.readLac(ledgerId);
      if ((reply.code === 'OK' || isNegative(reply.code)) && lacOfReply(reply) <= after) {
        await wait.wait(this.#parts.clock, Math.min(request.timeoutMs, awaitLacTimeoutMsMax), stop);
        if (stop?.aborted) return { code: 'UNAVAILABLE' };
        reply = await this.readLac(ledgerId);
      }
      if (!withEntry || reply.code !== 'OK' || lacOfReply(reply) <= after) return reply;
      const [entry] = (await this.#readEntries(ledgerId, [(after + 1) as EntryId], 0)).entries;
      return entry === undefined ? reply : { ...reply, entry };
    } finally {
      wait.cancel();
    }
  }

  async writeLac(request: WriteLacRequest): Promise<CodeReply> {
    const refusal = this.#refusal() ?? (this.#parts.readOnly.isReadOnly ? 'READ_ONLY' : undefined);
    return { code: refusal ?? (await this.#parts.appends.writeLac(request)) };
  }

  async force(request: ForceRequest): Promise<CodeReply> {
    return { code: this.#refusal() ?? (await this.#parts.appends.force(request)) };
  }

  async listEntries(ledgerId: LedgerId): Promise<ListEntriesReply> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return { code: refusal, runs: [] };
    const { storage, appends } = this.#parts;
    if (!storage.states.has(ledgerId)) return { code: this.#absent('NO_LEDGER', ledgerId), runs: [] };
    try {
      // Who asks counts copies that last: not what a crash could still take back.
      const runs = appends.undurable.without(ledgerId, await storage.listEntries(ledgerId));
      return {
        code: this.#parts.limbo.has(ledgerId) ? 'UNKNOWN_LEDGER_STATE' : 'OK',
        runs: runs.map(({ first, last }) => ({ first: first as EntryId, last: last as EntryId })),
      };
    } catch (error) {
      return { code: this.#ioError(error, ledgerId), runs: [] };
    }
  }

  async info(): Promise<BookieInfoReply> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return { code: refusal, totalBytes: 0, freeBytes: 0 };
    await this.#parts.disks.check();
    const reply: BookieInfoReply = { code: 'OK', totalBytes: 0, freeBytes: 0 };
    for (const { isLedgers, level, totalBytes, freeBytes } of this.#parts.disks.directories) {
      if (!isLedgers || level === 'failed') continue;
      reply.totalBytes += totalBytes;
      reply.freeBytes += freeBytes;
    }
    return reply;
  }

  async #readEntries(ledgerId: LedgerId, entryIds: readonly EntryId[], bytesMax: number): Promise<ReadReply> {
    const { storage, metrics, clock, readReplyBytesMax } = this.#parts;
    const startMs = metrics === undefined ? 0 : clock.monoMs();
    if (!storage.states.has(ledgerId)) return { code: this.#absent('NO_LEDGER', ledgerId), entries: [] };
    const result = await storage.read(ledgerId, entryIds, Math.min(bytesMax, readReplyBytesMax));
    const reply: ReadReply =
      result.is === 'entries'
        ? { code: 'OK', entries: result.entries }
        : { code: result.is === 'none' ? this.#absent('NO_ENTRY', ledgerId) : this.#ioError(result.error, ledgerId), entries: [] };
    metrics?.noteRead({ code: reply.code, durationMs: clock.monoMs() - startMs, entries: reply.entries });
    return reply;
  }

  /** A bookie that may have lost it proves nothing (rule R15). */
  #absent(code: 'NO_LEDGER' | 'NO_ENTRY', ledgerId: LedgerId): BookieCode {
    return this.#parts.limbo.has(ledgerId) ? 'UNKNOWN_LEDGER_STATE' : code;
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
