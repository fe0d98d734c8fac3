import type { MetadataStore } from '@daybook/metadata';
import type { DigestType } from '@daybook/proto';
import { type Clock, type Logger, silentLogger } from '@daybook/runtime';
import { ledgerErrors } from '../errors.js';
import type { LedgerClient, LedgerReader, LedgerWriter } from '../ledger-api.js';
import { journalErrors } from './errors.js';
import { decodeOperations } from './journal-entry-format.js';
import { type JournalInput, LedgerJournalInput } from './journal-input.js';
import { JournalMetadata, type StoredSegment } from './journal-metadata.js';
import { type JournalOutput, LedgerJournalOutput } from './journal-output.js';
import { decodeVersion, encodeVersion, type JournalSegment, type NamespaceInfo } from './journal-records.js';

export interface JournalOptions {
  /** Default 3. */
  ensembleSize: number;
  /** Default 2; an edit is acknowledged when all of them have it. */
  quorumSize: number;
  /** Default HMAC. */
  digestType: DigestType;
  /** Default: empty. */
  password: Uint8Array;
  /** Take fewer bookies when there are fewer, at least `quorumSize`. Default false. */
  shrinkToAvailable: boolean;
  /** Operations go together as one entry once they have so many bytes. Default 1,024. */
  transmissionThresholdBytes: number;
  /** Bytes written and not acknowledged. Default 8 MiB. */
  windowBytes: number;
  /** Who writes, for people. Default `localhost`. */
  host: string;
}

export const defaultJournalOptions: JournalOptions = {
  ensembleSize: 3,
  quorumSize: 2,
  digestType: 'HMAC',
  password: new Uint8Array(),
  shrinkToAvailable: false,
  transmissionThresholdBytes: 1024,
  windowBytes: 8 * 1024 * 1024,
  host: 'localhost',
};

export interface JournalDependencies {
  store: MetadataStore;
  ledgers: LedgerClient;
  clock: Clock;
  logger?: Logger;
  /** The journal's name in the store. */
  name: string;
  namespace: NamespaceInfo;
  options?: Partial<JournalOptions>;
}

/**
 * The edit log of a name node as a chain of segments, one ledger each, with the semantics of `BookKeeperJournalManager`: docs/internals/journal-segments.md. The
 * active name node calls {@link recoverUnfinalizedSegments} before its first {@link startLogSegment}: that fences whoever wrote before. One change at a time:
 * calls wait for each other.
 */
export class Journal {
  readonly name: string;
  readonly #metadata: JournalMetadata;
  readonly #ledgers: LedgerClient;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #namespace: NamespaceInfo;
  readonly #options: JournalOptions;
  #isChecked = false;
  #current: LedgerJournalOutput | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(dependencies: JournalDependencies) {
    this.name = dependencies.name;
    this.#metadata = new JournalMetadata(dependencies.store, dependencies.name);
    this.#ledgers = dependencies.ledgers;
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger ?? silentLogger;
    this.#namespace = dependencies.namespace;
    this.#options = { ...defaultJournalOptions, ...dependencies.options };
  }

  /** Removes everything there is, and makes an empty journal for the name space. */
  format(): Promise<void> {
    return this.#alone(async () => {
      await this.#metadata.removeVersion();
      for (const { segment, path } of await this.#metadata.segments({ inProgress: true })) {
        await this.#ledgers.delete(segment.ledgerId);
        await this.#metadata.remove(path, 'any');
      }
      await this.#metadata.removeRest();
      await this.#metadata.writeVersion(encodeVersion(this.#namespace));
      this.#isChecked = false;
    });
  }

  hasSomeData(): Promise<boolean> {
    return this.#metadata.exists();
  }

  /**
   * A new segment that begins with `txId`. Rejects with `JOURNAL_ALREADY_SEEN`, `JOURNAL_ALREADY_IN_PROGRESS`, `JOURNAL_TAKEN_OVER`, `JOURNAL_NOT_FORMATTED`,
   * `JOURNAL_ENVIRONMENT_MISMATCH`.
   */
  startLogSegment(txId: number): Promise<JournalOutput> {
    return this.#alone(async () => {
      checkTxId(txId);
      await this.#check();
      const max = await this.#metadata.maxTxId();
      if (txId <= max) throw journalErrors.ALREADY_SEEN(txId, max);
      const current = await this.#metadata.readCurrent();
      if (current.path !== undefined && (await this.#metadata.readSegment(current.path)) !== undefined) {
        throw journalErrors.ALREADY_IN_PROGRESS(current.path);
      }
      await this.#leaveErrored();
      const ledger = await this.#createLedger();
      const path = this.#metadata.keys.inProgress(txId);
      try {
        await this.#begin(ledger, path, { txId, version: current.version });
      } catch (error) {
        // Nothing was written to it, and nobody else may find it.
        await ledger.close().catch(() => undefined);
        await this.#ledgers.delete(ledger.ledgerId).catch(() => undefined);
        throw error;
      }
      const { transmissionThresholdBytes, windowBytes } = this.#options;
      this.#current = new LedgerJournalOutput({ clock: this.#clock, ledger, firstTxId: txId, transmissionThresholdBytes, windowBytes });
      return this.#current;
    });
  }

  /** Rejects with `JOURNAL_NO_IN_PROGRESS`, `JOURNAL_OTHER_LEDGER`, `JOURNAL_OTHER_TRANSACTION_ID`, `JOURNAL_LAST_TRANSACTION_ID`, `JOURNAL_DATA_MISMATCH`. */
  finalizeLogSegment(firstTxId: number, lastTxId: number): Promise<void> {
    return this.#alone(async () => {
      await this.#check();
      const path = this.#metadata.keys.inProgress(firstTxId);
      const stored = await this.#metadata.readSegment(path);
      if (stored === undefined) throw journalErrors.NO_IN_PROGRESS(path);
      await this.#closeCurrent(stored.segment);
      if (stored.segment.firstTxId !== firstTxId) throw journalErrors.OTHER_TRANSACTION_ID(stored.segment.firstTxId, firstTxId);
      const found = await this.recoverLastTxId(stored.segment, { fence: true });
      if (found !== lastTxId) throw journalErrors.LAST_TRANSACTION_ID(lastTxId, found ?? firstTxId - 1);
      await this.#finalize(stored, lastTxId);
    });
  }

  /**
   * The segments from `fromTxId` on, without a gap, the first one positioned at it; empty when no segment has it. Never fences: of a segment in progress
   * (`inProgressOk`) what is visible now.
   */
  async selectInputStreams(fromTxId: number, { inProgressOk = false }: { inProgressOk?: boolean } = {}): Promise<JournalInput[]> {
    await this.#check();
    const inputs: JournalInput[] = [];
    let next = fromTxId;
    try {
      for (const segment of await this.#readableSegments(inProgressOk)) {
        if (segment.lastTxId !== undefined && segment.lastTxId < next) continue;
        const input = await this.#openInput(segment, next);
        if (input === undefined) break;
        inputs.push(input);
        next = input.lastTxId + 1;
      }
      return inputs;
    } catch (error) {
      await Promise.all(inputs.map((input) => input.close()));
      throw error;
    }
  }

  /** Brings in order what an earlier writer left, which is fenced by that. Rejects with `JOURNAL_CORRUPT` when a segment cannot be understood. */
  recoverUnfinalizedSegments(): Promise<void> {
    return this.#alone(async () => {
      await this.#check();
      await this.#leaveErrored();
      for (const stored of await this.#metadata.segments({ inProgress: true })) {
        const { segment, path } = stored;
        if (segment.lastTxId !== undefined) continue;
        const lastTxId = await this.recoverLastTxId(segment, { fence: true });
        if (lastTxId === undefined) await this.#undo(stored);
        else await this.#finalize(stored, lastTxId);
        this.#logger.info({ journal: this.name, path, lastTxId }, lastTxId === undefined ? 'empty segment removed' : 'segment recovered');
      }
    });
  }

  /** The last transaction of a segment: with `fence` the last one for good, otherwise the last one visible now. Undefined when it is empty. */
  async recoverLastTxId(segment: JournalSegment, { fence }: { fence: boolean }): Promise<number | undefined> {
    const reader = await this.#openLedger(segment, fence);
    try {
      return await this.#lastTxIdOf(reader, segment);
    } finally {
      await reader.close();
    }
  }

  /** Removes finalized segments that end below `minTxIdToKeep`. */
  purgeLogsOlderThan(minTxIdToKeep: number): Promise<void> {
    return this.#alone(async () => {
      await this.#check();
      for (const { segment, path, version } of await this.#metadata.segments({ inProgress: false })) {
        if (segment.lastTxId === undefined || segment.lastTxId >= minTxIdToKeep) continue;
        // The ledger first: purging again finds the key, and a ledger that is gone is fine.
        await this.#ledgers.delete(segment.ledgerId);
        await this.#metadata.remove(path, version);
      }
    });
  }

  /** How many transactions there are from `fromTxId` on, up to the first gap. Rejects with `JOURNAL_GAP` when there is one right at the beginning. */
  async numberOfTransactions(fromTxId: number, { inProgressOk = false }: { inProgressOk?: boolean } = {}): Promise<number> {
    await this.#check();
    let count = 0;
    let expected = fromTxId;
    for (const segment of await this.#readableSegments(inProgressOk)) {
      const lastTxId = segment.lastTxId ?? (await this.recoverLastTxId(segment, { fence: false }));
      if (lastTxId === undefined) break;
      if (lastTxId < expected) continue;
      if (segment.firstTxId > expected) {
        if (count === 0) throw journalErrors.GAP(segment.firstTxId, expected);
        break;
      }
      count += lastTxId - expected + 1;
      expected = lastTxId + 1;
    }
    return count;
  }

  /** The stream under way is left as it is: whoever comes next recovers it. */
  async close(): Promise<void> {
    await this.#last;
    await this.#leaveErrored();
  }

  async #check(): Promise<void> {
    if (this.#isChecked) return;
    const text = await this.#metadata.readVersion();
    if (text === undefined) throw journalErrors.NOT_FORMATTED(this.name);
    const stored = decodeVersion(text, this.name);
    const { namespaceId, clusterId, blockPoolId } = this.#namespace;
    if (stored.namespaceId !== namespaceId || stored.clusterId !== clusterId || stored.blockPoolId !== blockPoolId) {
      throw journalErrors.ENVIRONMENT_MISMATCH(describe(this.#namespace), describe(stored));
    }
    this.#isChecked = true;
  }

  async #createLedger(): Promise<LedgerWriter> {
    const { ensembleSize, quorumSize, digestType, password, shrinkToAvailable } = this.#options;
    const customMetadata = new Map([
      ['application', Buffer.from('daybook-journal')],
      ['journal', Buffer.from(this.name)],
    ]);
    const sizes = { ensembleSize, writeQuorumSize: quorumSize, ackQuorumSize: quorumSize };
    return this.#ledgers.create({ ...sizes, digestType, password, shrinkToAvailable, customMetadata });
  }

  /** The key first (a crash leaves an empty segment, which recovery removes), then the highest transaction, then the pointer. */
  async #begin(ledger: LedgerWriter, path: string, start: { txId: number; version: number | 'absent' }): Promise<void> {
    const { txId, version } = start;
    const { ledgerId } = ledger;
    const segment = { layoutVersion: this.#namespace.layoutVersion, ledgerId, firstTxId: txId, lastTxId: undefined };
    if (!(await this.#metadata.createSegment(path, segment))) throw journalErrors.ALREADY_IN_PROGRESS(path);
    try {
      await this.#metadata.raiseMaxTxId(txId);
      await this.#metadata.writeCurrent(path, this.#options.host, version);
    } catch (error) {
      const ours = await this.#metadata.readSegment(path);
      if (ours?.segment.ledgerId === ledgerId) await this.#metadata.remove(path, ours.version);
      throw error;
    }
  }

  async #closeCurrent(segment: JournalSegment): Promise<void> {
    const current = this.#current;
    if (current === undefined) return;
    if (current.ledger.ledgerId !== segment.ledgerId) throw journalErrors.OTHER_LEDGER(segment.ledgerId, current.ledger.ledgerId);
    try {
      await current.close();
    } catch (error) {
      if (ledgerErrors.FENCED.is(error) || ledgerErrors.FENCED.is((error as Error).cause))
        throw journalErrors.TAKEN_OVER(this.name, { cause: error });
      throw error;
    }
    this.#current = undefined;
  }

  /** A stream that failed, or that nobody finalized: its segment is for recovery. */
  async #leaveErrored(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await current?.abort().catch((error) => this.#logger.debug({ journal: this.name, error }, 'the last stream could not be closed'));
  }

  async #finalize({ segment, path, version }: StoredSegment, lastTxId: number): Promise<void> {
    const finalized = this.#metadata.keys.finalized(segment.firstTxId, lastTxId);
    if (!(await this.#metadata.createSegment(finalized, { ...segment, lastTxId }))) throw journalErrors.DATA_MISMATCH(finalized);
    await this.#metadata.raiseMaxTxId(lastTxId);
    await this.#metadata.remove(path, version);
    await this.#metadata.clearCurrent(path);
  }

  /** A writer died after it began the segment and before it wrote to it: that transaction never happened. */
  async #undo({ segment, path, version }: StoredSegment): Promise<void> {
    await this.#metadata.lowerMaxTxId(segment.firstTxId);
    await this.#metadata.remove(path, version);
    await this.#metadata.clearCurrent(path);
    await this.#ledgers.delete(segment.ledgerId);
  }

  /** Without what a crash has left beside its finalized twin. */
  async #readableSegments(inProgress: boolean): Promise<JournalSegment[]> {
    const segments = (await this.#metadata.segments({ inProgress })).map(({ segment }) => segment);
    return segments.filter((segment, i) => segment.lastTxId !== undefined || segments[i - 1]?.firstTxId !== segment.firstTxId);
  }

  /** Undefined when the segment does not have `fromTxId` (any more, or yet). */
  async #openInput(segment: JournalSegment, fromTxId: number): Promise<JournalInput | undefined> {
    if (fromTxId < segment.firstTxId) return undefined;
    const reader = await this.#openLedger(segment, false);
    try {
      const lastTxId = segment.lastTxId ?? (await this.#lastTxIdOf(reader, segment));
      if (lastTxId !== undefined && fromTxId <= lastTxId) {
        const input = new LedgerJournalInput(reader, segment, lastTxId);
        input.skipTo(fromTxId);
        return input;
      }
    } catch (error) {
      await reader.close();
      throw error;
    }
    await reader.close();
    return undefined;
  }

  #openLedger({ ledgerId }: JournalSegment, fence: boolean): Promise<LedgerReader> {
    const { password, digestType } = this.#options;
    return fence
      ? this.#ledgers.openWithRecovery(ledgerId, { password, digestType })
      : this.#ledgers.openWithoutRecovery(ledgerId, { password, digestType });
  }

  async #lastTxIdOf(reader: LedgerReader, segment: JournalSegment): Promise<number | undefined> {
    const last = reader.lastAddConfirmed;
    if (last === -1) return undefined;
    const [entry] = await reader.read(last, last);
    const what = `[ledger ${segment.ledgerId}, first transaction ${segment.firstTxId}]`;
    const lastTxId = decodeOperations(entry?.payload ?? Buffer.alloc(0), `entry ${last} of ${what}`).at(-1)?.txId ?? -1;
    if (lastTxId < segment.firstTxId) throw journalErrors.CORRUPT(what, `it ends with transaction ${lastTxId}`);
    return lastTxId;
  }

  /** After whatever was begun before. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

function checkTxId(txId: number): void {
  if (!Number.isSafeInteger(txId) || txId < 1) throw journalErrors.BAD_TRANSACTION_ID(txId);
}

function describe({ namespaceId, clusterId, blockPoolId }: NamespaceInfo): string {
  return `nsid=${namespaceId};cid=${clusterId};bpid=${blockPoolId}`;
}
