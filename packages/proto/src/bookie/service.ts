import type { BookieId, EntryId, LedgerId } from '../ids.js';
import type { AppendBatch } from './append-batch.js';

/**
 * A bookie as the ledger client sees it: the one seam between `ledger` and `bookie`. Implemented by the bookie itself (in-process calls of
 * standalone), by the gRPC client in `ledger/grpc-bookie.ts`, and by the simulator's network.
 *
 * Answers are codes, not exceptions: no method throws or rejects because of the bookie, the network or a bad request.
 */
export interface BookieService {
  readonly bookieId: BookieId;
  /**
   * Stores a batch of entries of one ledger: all of them or none. `done` is called exactly once, never before `append` returned. With `OK`
   * the entries are durable on that bookie. Batches of one ledger are journaled and answered in the order they were handed over, as long as
   * all are answered `OK`. `batch.bytes` belongs to the callee until `done`.
   *
   * A batch with deferred sync is answered `OK` once it is on its way to the journal; only {@link force} tells that it is durable. One whose
   * `previousEntryId` the bookie does not hold is answered `IO_ERROR`: the bookie lost what it had only promised to write.
   */
  append(batch: AppendBatch, done: (code: BookieCode) => void): void;
  /** Reads the entries of one ledger with the given ids (ascending), or a first part of them. */
  read(request: ReadRequest): Promise<ReadReply>;
  /** Fences a ledger (creates it when the bookie never heard of it): durable when it resolves with `OK`. Then as {@link readLac}. */
  fence(request: FenceRequest): Promise<LacReply>;
  /** The newest entry this bookie holds of a ledger: its header carries the last-add-confirmed its writer knew. */
  readLac(ledgerId: LedgerId): Promise<LacReply>;
  /**
   * As {@link readLac}, but answered only when this bookie knows of a last-add-confirmed above `after`, or after `timeoutMs`, or when `stop` aborts (nobody
   * waits for the answer any more). `TOO_MANY_REQUESTS` when too many wait already.
   */
  awaitLac(request: AwaitLacRequest, stop?: AbortSignal): Promise<AwaitLacReply>;
  /**
   * Leaves a last-add-confirmed that no entry carries yet. `OK` when it is in the journal; `NO_LEDGER` when this bookie was never sent anything of the
   * ledger. Also taken on a fenced ledger: what its writer says there is true.
   */
  writeLac(request: WriteLacRequest): Promise<CodeReply>;
  /** `OK` when all appends of the ledger that this bookie has answered are durable, `lastEntryId` among them; `IO_ERROR` when something of it is lost. */
  force(request: ForceRequest): Promise<CodeReply>;
  /** Which entries of a ledger this bookie holds durably: what is listed outlasts a crash. An entry on its way to the journal is not listed yet, though it can be read. */
  listEntries(ledgerId: LedgerId): Promise<ListEntriesReply>;
  /** Space on the ledger disks. */
  info(): Promise<BookieInfoReply>;
}

/**
 * `NO_LEDGER` and `NO_ENTRY` are negatives: proof that the bookie does not have it. Everything else but `OK` means *unknown*.
 * `UNAVAILABLE` (no connection, wrong bookie at the address) and `TIMEOUT` are made by the caller's side of the wire.
 */
export type BookieCode =
  | 'OK'
  | 'NO_LEDGER'
  | 'NO_ENTRY'
  | 'FENCED'
  | 'UNAUTHORIZED'
  | 'READ_ONLY'
  | 'TOO_MANY_REQUESTS'
  | 'BAD_REQUEST'
  | 'IO_ERROR'
  | 'UNKNOWN_LEDGER_STATE'
  | 'UNAVAILABLE'
  | 'TIMEOUT';

/** True for an explicit "not here", the only answers that recovery may count as absence (rule R4, R7). */
export function isNegative(code: BookieCode): boolean {
  return code === 'NO_ENTRY' || code === 'NO_LEDGER';
}

export interface ReadRequest {
  ledgerId: LedgerId;
  /** At least one, ascending. */
  entryIds: readonly EntryId[];
  /** Stop before the reply's entries exceed this many bytes; the first entry is always returned. */
  bytesMax: number;
  /** Set for recovery reads: fence the ledger first, with this master key (20 bytes). */
  fenceWithKey?: Uint8Array;
}

export interface ReadReply {
  /** `OK` when at least the first id could be read; otherwise why the first could not. */
  code: BookieCode;
  /** Whole entries (header, digest, payload) for a first part of the ids asked for, in that order. The receiver owns them; they share no memory with caches. */
  entries: readonly Buffer[];
}

export interface FenceRequest {
  ledgerId: LedgerId;
  /** 20 bytes; the ledger is created with this key when it is unknown. */
  masterKey: Uint8Array;
}

export interface LacReply {
  /** For `fence`, a negative code still means "fenced": there is just no entry yet. */
  code: BookieCode;
  /** The whole newest entry, with `OK`. */
  lastEntry?: Buffer;
  /** The newest explicit last-add-confirmed (entry.ts) the bookie was left, with `OK` and with negatives. */
  explicitLac?: Buffer;
}

export interface AwaitLacRequest {
  ledgerId: LedgerId;
  /** What the caller knows already; -1 for nothing. */
  after: EntryId;
  timeoutMs: number;
  /** Also wants entry `after + 1`, when this bookie holds it. */
  withEntry: boolean;
}

export interface AwaitLacReply extends LacReply {
  /** The whole entry `after + 1`. */
  entry?: Buffer;
}

export interface WriteLacRequest {
  ledgerId: LedgerId;
  /** 20 bytes. */
  masterKey: Uint8Array;
  /** As `encodeExplicitLac` makes it. */
  explicitLac: Uint8Array;
}

export interface ForceRequest {
  ledgerId: LedgerId;
  /** The newest entry the caller knows this bookie to have taken. */
  lastEntryId: EntryId;
}

export interface CodeReply {
  code: BookieCode;
}

export interface ListEntriesReply {
  /** `UNKNOWN_LEDGER_STATE`: it has these, and may have forgotten others. */
  code: BookieCode;
  /** Inclusive runs of ids, ascending and apart. */
  runs: readonly { first: EntryId; last: EntryId }[];
}

export interface BookieInfoReply {
  code: BookieCode;
  totalBytes: number;
  freeBytes: number;
}
