import { type MetadataStore, nameOfPart, paths } from '@daybook/metadata';
import { type Clock, type Logger, type Random, silentLogger } from '@daybook/runtime';
import type { LedgerClient } from '../ledger-api.js';
import { logErrors } from './errors.js';
import type { Log, LogReader, LogRecord, Logs, LogWriter, OpenReaderOptions, OpenWriterOptions, ReadFrom } from './log-api.js';
import { LogMetadata } from './log-metadata.js';
import { type LogOptions, logOptions } from './log-options.js';
import { firstPosition, type LogPosition } from './log-position.js';
import { TailingLogReader } from './log-reader.js';
import { countRecords, isEndMarked, type LogSearchDependencies, lastRecordOf, searchTxId } from './log-search.js';
import { type LogWriterDependencies, SegmentedLogWriter } from './log-writer.js';
import { ownLog } from './open-writer.js';
import type { LogSegment } from './segment-format.js';
import { SegmentReader } from './segment-reader.js';
import { checkTxId, noTxId, type TransactionId } from './transaction-id.js';
import { purgeBelowTxId, truncateLog } from './truncation.js';

export interface LogsDependencies {
  store: MetadataStore;
  ledgers: LedgerClient;
  clock: Clock;
  random: Random;
  logger?: Logger;
  options?: Partial<LogOptions>;
}

/** Named logs as DistributedLog has them, on ledgers: docs/internals/named-logs.md. */
export function createLogs(dependencies: LogsDependencies): Logs {
  return new StoredLogs(dependencies);
}

class StoredLogs implements Logs {
  readonly #d: LogsDependencies;
  readonly #options: LogOptions;

  constructor(dependencies: LogsDependencies) {
    this.#d = dependencies;
    this.#options = logOptions(dependencies.options);
  }

  async create(name: string): Promise<Log> {
    const metadata = new LogMetadata(this.#d, name);
    const left = await metadata.findHead();
    if (left?.head.state === 'deleting') await this.#log(name).removeAll();
    await metadata.create();
    return this.#log(name);
  }

  async open(name: string): Promise<Log> {
    const log = this.#log(name);
    await log.metadata.readHead();
    return log;
  }

  async exists(name: string): Promise<boolean> {
    const found = await new LogMetadata(this.#d, name).findHead();
    return found !== undefined && found.head.state === 'open';
  }

  async list(): Promise<string[]> {
    const names: string[] = [];
    for (const part of await this.#d.store.children(paths.logs)) {
      const name = nameOfPart(part);
      if (name !== undefined && (await this.exists(name))) names.push(name);
    }
    return names.sort();
  }

  async delete(name: string, options: OpenWriterOptions = {}): Promise<void> {
    await this.#log(name).delete(options);
  }

  #log(name: string): StoredLog {
    const { store, ledgers, clock, random, logger = silentLogger } = this.#d;
    const metadata = new LogMetadata(this.#d, name);
    return new StoredLog({ store, metadata, ledgers, clock, random, logger, options: this.#options, nowMs: () => clock.wallMs() });
  }
}

class StoredLog implements Log {
  readonly #d: LogWriterDependencies & { store: MetadataStore };

  constructor(dependencies: LogWriterDependencies & { store: MetadataStore }) {
    this.#d = dependencies;
  }

  get name(): string {
    return this.#d.metadata.name;
  }

  /** @internal */
  get metadata(): LogMetadata {
    return this.#d.metadata;
  }

  async openWriter(options: OpenWriterOptions = {}): Promise<LogWriter> {
    const { lock, head } = await ownLog(this.#d, options);
    return new SegmentedLogWriter(this.#d, lock, head);
  }

  async openReader({ from = 'first', ifTruncated = 'fail' }: OpenReaderOptions = {}): Promise<LogReader> {
    const start = await this.#startOf(from);
    const { metadata, ledgers, clock, random, logger, options } = this.#d;
    return new TailingLogReader({ metadata, ledgers, clock, random, logger, password: options.password }, { ...start, ifTruncated });
  }

  async segments(): Promise<readonly LogSegment[]> {
    return (await this.metadata.snapshot()).segments;
  }

  async firstRecord(): Promise<LogRecord> {
    await using reader = await this.openReader({ ifTruncated: 'skip' });
    const [record] = await reader.read({ recordsMax: 1 }).catch((error) => {
      if (logErrors.END_OF_STREAM.is(error)) return [];
      throw error;
    });
    if (record === undefined) throw logErrors.EMPTY(this.name);
    return record;
  }

  lastRecord(): Promise<LogRecord> {
    return lastRecordOf(this.#search());
  }

  async firstTxId(): Promise<TransactionId> {
    return (await this.firstRecord()).txId;
  }

  async lastTxId(): Promise<TransactionId> {
    return (await this.lastRecord()).txId;
  }

  async firstPosition(): Promise<LogPosition> {
    return (await this.firstRecord()).position;
  }

  async lastPosition(): Promise<LogPosition> {
    return (await this.lastRecord()).position;
  }

  recordsCount(): Promise<number> {
    return countRecords(this.#search());
  }

  async positionNotBefore(txId: TransactionId): Promise<LogPosition | undefined> {
    checkTxId(txId);
    const { position, isFound } = await searchTxId(this.#search(), txId);
    return isFound ? position : undefined;
  }

  isEndOfStreamMarked(): Promise<boolean> {
    return isEndMarked(this.#search());
  }

  async recover(options: OpenWriterOptions = {}): Promise<void> {
    const { lock } = await ownLog(this.#d, options);
    await lock.release();
  }

  async truncate(position: LogPosition): Promise<void> {
    await truncateLog(this.#d, position);
  }

  async purgeOlderThan(minTxIdToKeep: TransactionId): Promise<void> {
    checkTxId(minTxIdToKeep);
    await purgeBelowTxId(this.#d, minTxIdToKeep);
  }

  /** @internal */
  async delete(options: OpenWriterOptions): Promise<void> {
    const found = await this.metadata.findHead();
    if (found?.head.state !== 'deleting') {
      const { lock } = await ownLog(this.#d, options);
      try {
        await this.metadata.update((head) => ({ ...head, state: 'deleting', epoch: head.epoch + 1 }));
      } catch (error) {
        // The answer may have been lost.
        if (!logErrors.NOT_FOUND.is(error)) throw error;
      } finally {
        await lock.release();
      }
    }
    await this.removeAll();
  }

  /** @internal The rest of deleting; idempotent. The head goes last: while it is there, so is the list of what is to be removed. */
  async removeAll(): Promise<void> {
    const { metadata, ledgers } = this.#d;
    const found = await metadata.findHead();
    if (found?.head.state !== 'deleting') return;
    const { allocated, inProgress } = found.head;
    for (const ledgerId of [...(allocated === undefined ? [] : [allocated]), ...inProgress.map((segment) => segment.ledgerId)])
      await ledgers.delete(ledgerId);
    for (const sequence of await metadata.listCompleted()) {
      const segment = await metadata.readCompleted(sequence);
      if (segment !== undefined) await ledgers.delete(segment.ledgerId);
      await metadata.removeCompleted(sequence);
    }
    await metadata.removeHead();
  }

  async #startOf(from: ReadFrom): Promise<{ position: LogPosition; minTxId: TransactionId }> {
    if (typeof from === 'object' && 'position' in from) return { position: from.position, minTxId: noTxId };
    if (typeof from === 'object') {
      checkTxId(from.txId);
      return { position: (await searchTxId(this.#search(), from.txId)).position, minTxId: from.txId };
    }
    return { position: from === 'first' ? await this.#firstActive() : await this.#end(), minTxId: noTxId };
  }

  async #firstActive(): Promise<LogPosition> {
    const { head, segments } = await this.metadata.snapshot();
    const first = segments.find(({ status }) => status !== 'truncated');
    if (first === undefined) return { ...firstPosition, sequence: head.highestSequence + 1 };
    return { sequence: first.sequence, entryId: first.firstActiveEntryId, slot: first.firstActiveSlot };
  }

  /** Behind everything that is visible. */
  async #end(): Promise<LogPosition> {
    const { head, segments } = await this.metadata.snapshot();
    const current = segments.find(({ kind }) => kind === 'in progress');
    const behind = { sequence: head.highestSequence + 1, entryId: 0, slot: 0 };
    if (current === undefined) return behind;
    const reader = await SegmentReader.open(this.#d.ledgers, this.#d.options.password, this.name, current);
    if (reader === undefined) return behind;
    const entryId = (await reader.refresh()) + 1;
    await reader.close();
    return { sequence: current.sequence, entryId, slot: 0 };
  }

  #search(): LogSearchDependencies {
    return { metadata: this.metadata, ledgers: this.#d.ledgers, password: this.#d.options.password };
  }
}
