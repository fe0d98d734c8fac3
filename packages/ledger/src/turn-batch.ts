import { type AppendBatch, AppendBatchBuilder, type Digest, type EntryId, entryPayloadBytesMax, type LedgerId } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { PendingBatch } from './batch-queue.js';
import { storesEntry } from './distribution.js';
import { ledgerErrors } from './errors.js';
import type { QuorumSizes } from './quorum.js';

/** A batch with its bytes: one blob for all members (E = Qw), or one per index with only its entries (E > Qw). */
export interface TurnBatch extends PendingBatch {
  readonly blobs: readonly (AppendBatch | undefined)[];
}

/** The blob for one index; the state machine sends a batch only to indexes that have one. */
export function blobFor(batch: TurnBatch, index: number): AppendBatch {
  return (batch.blobs.length === 1 ? batch.blobs[0] : batch.blobs[index]) as AppendBatch;
}

export interface TurnBatcherOptions {
  sizes: QuorumSizes;
  ledgerId: LedgerId;
  masterKey: Uint8Array;
  digest: Digest;
  isRecovery: boolean;
  isDeferredSync?: boolean;
}

/** Collects the entries pushed in one turn of the event loop into as few batches as their size limit allows. Each entry is encoded once per blob it goes into. */
export class TurnBatcher {
  readonly #sizes: QuorumSizes;
  readonly #builders: readonly AppendBatchBuilder[];
  #sealed: TurnBatch[] = [];
  #sealedBytes = 0;
  #number = 0;
  #firstEntryId = 0;
  #lastEntryId = -1;
  #length = 0;
  #builtAtMs = 0;

  constructor(options: TurnBatcherOptions) {
    const { sizes, ledgerId, masterKey, digest, isRecovery, isDeferredSync = false } = options;
    this.#sizes = sizes;
    const count = sizes.ensembleSize === sizes.writeQuorumSize ? 1 : sizes.ensembleSize;
    this.#builders = Array.from({ length: count }, () => new AppendBatchBuilder({ ledgerId, masterKey, digest, isRecovery, isDeferredSync }));
  }

  /** Bytes collected and not yet taken. */
  get bytes(): number {
    return this.#sealedBytes + this.#openBytes();
  }

  /** Copies the payload. `length` counts all payload bytes of the ledger up to and including this entry. */
  add(entryId: EntryId, lastAddConfirmed: EntryId, length: number, payload: Uint8Array, clock: Pick<Clock, 'monoMs'>): void {
    if (payload.length > entryPayloadBytesMax) throw ledgerErrors.TOO_LARGE(payload.length, entryPayloadBytesMax);
    if (!this.#hasRoomFor(payload.length)) this.#seal();
    if (this.#openBytes() === 0) {
      this.#firstEntryId = entryId;
      this.#builtAtMs = clock.monoMs();
    }
    this.#lastEntryId = entryId;
    this.#length = length;
    for (let index = 0; index < this.#builders.length; index++) {
      if (this.#builders.length > 1 && !storesEntry(this.#sizes, index, entryId)) continue;
      (this.#builders[index] as AppendBatchBuilder).add(entryId, lastAddConfirmed, length, payload);
    }
  }

  /** Everything collected so far, in order. */
  take(): readonly TurnBatch[] {
    this.#seal();
    const taken = this.#sealed;
    this.#sealed = [];
    this.#sealedBytes = 0;
    return taken;
  }

  #openBytes(): number {
    let bytes = 0;
    for (const builder of this.#builders) bytes += builder.bytes;
    return bytes;
  }

  #hasRoomFor(payloadBytes: number): boolean {
    for (const builder of this.#builders) if (!builder.hasRoomFor(payloadBytes)) return false;
    return true;
  }

  #seal(): void {
    const bytes = this.#openBytes();
    if (bytes === 0) return;
    this.#sealedBytes += bytes;
    this.#sealed.push({
      number: this.#number++,
      firstEntryId: this.#firstEntryId,
      lastEntryId: this.#lastEntryId,
      bytes,
      lengthUpTo: this.#length,
      builtAtMs: this.#builtAtMs,
      blobs: this.#builders.map((builder) => (builder.count === 0 ? undefined : builder.finish())),
    });
  }
}
