import { type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import { type BookieId, createDigest, type Digest, type EntryId, entryLength, type LedgerId, type LedgerMetadata, masterKey } from '@daybook/proto';
import { invariant } from '@daybook/runtime';
import { lastSegment } from './distribution.js';
import { describeReplies, queryEnsemble } from './ensemble-query.js';
import { ledgerErrors } from './errors.js';
import { endFromReplies, type KnownEnd } from './lac.js';
import { readEntries } from './read-op.js';
import { bytesPerRecoveryRead, RecoveryReader } from './recovery-reader.js';
import { closedRecord } from './recovery-state.js';
import { RecoveryWriter, type RecoveryWriterDependencies } from './recovery-writer.js';
import { within } from './within.js';

export interface RecoveryDependencies extends RecoveryWriterDependencies {
  records: LedgerRecords;
  speculativeReadTimeoutMs: number;
}

const attemptsMax = 10;
const gatherMsMax = 10;
const gatherBytesMax = 2 * 1024 * 1024;
const gatherCountMax = 2048;

/**
 * Makes sure that a ledger is closed, at an end that has all acknowledged entries (reference 1.13): fence, find the end, write the tail to Qa again,
 * close by compare-and-set on the version held. Any number of clients may do it at once; who loses a compare-and-set starts over from the record.
 * Rejects with `LEDGER_RECOVERY_FAILED` when too few bookies answer: the ledger stays in recovery, and anybody may try again. `read` is its record as it was read just now.
 */
export async function recoverLedger(dependencies: RecoveryDependencies, ledgerId: LedgerId, read?: VersionedLedger): Promise<VersionedLedger> {
  const { records } = dependencies;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const stored = attempt === 0 && read !== undefined ? read : await records.read(ledgerId);
    if (stored === undefined) throw ledgerErrors.NOT_FOUND(ledgerId);
    if (stored.metadata.state === 'CLOSED') return stored;
    try {
      const held =
        stored.metadata.state === 'IN_RECOVERY'
          ? stored
          : await records.write(ledgerId, { ...stored.metadata, state: 'IN_RECOVERY' }, stored.version);
      const closed = await new Recovery(dependencies, ledgerId, held.metadata).run();
      const result = await records.write(ledgerId, closed, held.version);
      dependencies.logger.info({ ledgerId, lastEntryId: closed.lastEntryId, length: closed.length }, 'ledger recovered and closed');
      return result;
    } catch (error) {
      if (!metadataErrors.BAD_VERSION.is(error)) throw error;
    }
  }
  throw ledgerErrors.RECOVERY_FAILED(ledgerId, 'others change its metadata again and again');
}

class Recovery {
  readonly #d: RecoveryDependencies;
  readonly #ledgerId: LedgerId;
  /** As it was when recovery began: all reads go by it. */
  readonly #metadata: LedgerMetadata;
  readonly #ensemble: readonly BookieId[];
  readonly #digest: Digest;
  readonly #masterKey: Buffer;
  readonly #reader: RecoveryReader;

  constructor(dependencies: RecoveryDependencies, ledgerId: LedgerId, metadata: LedgerMetadata) {
    this.#d = dependencies;
    this.#ledgerId = ledgerId;
    this.#metadata = metadata;
    this.#ensemble = lastSegment(metadata).ensemble;
    this.#digest = createDigest(metadata.digestType, metadata.password);
    this.#masterKey = masterKey(metadata.password);
    this.#reader = new RecoveryReader(dependencies, { ledgerId, metadata, digest: this.#digest, masterKey: this.#masterKey });
  }

  /** The record to close with. */
  async run(): Promise<LedgerMetadata> {
    const start = await this.#fence();
    this.#reader.expectEnd((start.newest + 1) as EntryId);
    const writer = new RecoveryWriter(this.#d, { ledgerId: this.#ledgerId, metadata: this.#metadata, lastConfirmed: start.lastConfirmed });
    try {
      const length = await this.#rewriteAll(writer);
      await writer.settled();
      return closedRecord(writer.metadata, { lastEntryId: writer.lastEntryId, length: length ?? (await this.#lengthUpTo(start)) });
    } finally {
      writer.close();
    }
  }

  /**
   * Rewrites what there is, and tells the length up to its last entry. What is read within a moment is written as one batch: for each one a bookie has to wait for its
   * disk.
   */
  async #rewriteAll(writer: RecoveryWriter): Promise<number | undefined> {
    let gathered: Buffer[] = [];
    let next = (writer.lastEntryId + 1) as EntryId;
    let reading = this.#reader.readFrom(next);
    let length: number | undefined;
    for (;;) {
      const found = gathered.length === 0 ? await reading : await within(this.#d.clock, gatherMsMax, reading);
      if (gathered.length > 0 && (found === undefined || found.length === 0 || !fitsInto(gathered, found))) {
        await writer.rewrite(gathered);
        gathered = [];
      }
      if (found === undefined) continue;
      const last = found.at(-1);
      if (last === undefined) return length;
      length = entryLength(last);
      for (const entry of found) gathered.push(entry);
      next = (next + found.length) as EntryId;
      reading = this.#reader.readFrom(next);
    }
  }

  async #fence(): Promise<KnownEnd> {
    const ledgerId = this.#ledgerId;
    const { replies, isCovered } = await queryEnsemble(this.#d, {
      sizes: this.#metadata,
      ensemble: this.#ensemble,
      ask: ({ service }) => service.fence({ ledgerId, masterKey: this.#masterKey }),
    });
    if (replies.some((reply) => reply?.code === 'UNAUTHORIZED')) throw ledgerErrors.UNAUTHORIZED(ledgerId);
    if (!isCovered) throw ledgerErrors.RECOVERY_FAILED(ledgerId, `too few bookies could be fenced (${describeReplies(this.#ensemble, replies)})`);
    return endFromReplies(replies, { ledgerId, digest: this.#digest, lastSegmentFirst: lastSegment(this.#metadata).firstEntryId });
  }

  /** Nothing was rewritten: the length stands in the header of the last entry, wherever that is (an older segment, when the last one is empty). */
  async #lengthUpTo(end: KnownEnd): Promise<number> {
    const lastEntryId = end.lastConfirmed;
    if (lastEntryId < 0) return 0;
    if (end.length !== undefined) return end.length;
    try {
      const range = { first: lastEntryId, last: lastEntryId, bytesMax: bytesPerRecoveryRead };
      const [entry] = await readEntries(this.#d, { ledgerId: this.#ledgerId, metadata: this.#metadata, digest: this.#digest, ...range });
      invariant(entry !== undefined, 'a read gives at least one entry');
      return entry.length;
    } catch (cause) {
      throw ledgerErrors.RECOVERY_FAILED(this.#ledgerId, `its last entry ${lastEntryId} cannot be read`, { cause });
    }
  }
}

/** What was found at once goes into one batch anyway. */
function fitsInto(gathered: readonly Buffer[], found: readonly Buffer[]): boolean {
  const bytesOf = (entries: readonly Buffer[]) => entries.reduce((sum, { length }) => sum + length, 0);
  return gathered.length + found.length <= gatherCountMax && bytesOf(gathered) + bytesOf(found) <= gatherBytesMax;
}
