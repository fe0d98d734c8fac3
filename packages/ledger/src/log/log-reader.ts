import type { Watch } from '@daybook/metadata';
import { Backoff, type Clock, type Logger, type Random } from '@daybook/runtime';
import { ledgerErrors } from '../errors.js';
import type { LedgerClient } from '../ledger-api.js';
import { logErrors } from './errors.js';
import type { LogReader, LogRecord, ReadOptions } from './log-api.js';
import type { LogMetadata } from './log-metadata.js';
import { compareLogPositions, formatPosition, type LogPosition, nextPosition } from './log-position.js';
import type { LogSegment } from './segment-format.js';
import { type SegmentEntry, SegmentReader } from './segment-reader.js';
import type { TransactionId } from './transaction-id.js';

export interface LogReaderDependencies {
  metadata: LogMetadata;
  ledgers: LedgerClient;
  password: Uint8Array;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export interface LogReaderStart {
  position: LogPosition;
  /** Records below are passed over. */
  minTxId: TransactionId;
  ifTruncated: 'fail' | 'skip';
}

const recordsMaxDefault = 1_000;
const bytesMaxDefault = 1024 * 1024;
/** How long bookies are asked to wait for the next entry. */
const longPollMs = 1_000;
/** Between two looks where there is nobody to wait for. */
const pollMsMin = 10;
const pollMsMax = 1_000;
/** The head is watched; this is for a watch that got lost. */
const headMsMax = 5_000;

type Step = 'moved' | 'caught up' | 'ended';

/**
 * Follows a log: segment by segment, and within the one in progress as far as its entries are confirmed. It leaves a segment only when its metadata says where it
 * ends and everything up to there was read, and then for the one behind it: hence no record is missed, none comes twice.
 */
export class TailingLogReader implements LogReader {
  readonly #d: LogReaderDependencies;
  readonly #minTxId: TransactionId;
  readonly #ifTruncated: 'fail' | 'skip';
  readonly #watch: Watch;
  /** The next record is here or behind. */
  #position: LogPosition;
  #segment: SegmentReader | undefined;
  /** Decoded and not given out: of one batch of entries. */
  #records: LogRecord[] = [];
  #isEnded = false;
  #isClosed = false;
  #isHeadChanged = true;
  #headReadMs = 0;
  #wake = new AbortController();
  #last: Promise<unknown> = Promise.resolve();

  constructor(dependencies: LogReaderDependencies, start: LogReaderStart) {
    this.#d = dependencies;
    this.#position = start.position;
    this.#minTxId = start.minTxId;
    this.#ifTruncated = start.ifTruncated;
    this.#watch = dependencies.metadata.watch(() => {
      this.#isHeadChanged = true;
      this.#wake.abort();
    });
  }

  get name(): string {
    return this.#d.metadata.name;
  }

  get position(): LogPosition {
    return this.#records[0]?.position ?? this.#position;
  }

  read(options: ReadOptions = {}): Promise<LogRecord[]> {
    const reading = this.#last.then(() => this.#read(options));
    this.#last = reading.catch(() => undefined);
    return reading;
  }

  async *records(stop?: AbortSignal): AsyncIterableIterator<LogRecord> {
    const waitMs = Number.POSITIVE_INFINITY;
    while (!stop?.aborted && !this.#isClosed) {
      let records: LogRecord[];
      try {
        records = await this.read({ waitMs, ...(stop !== undefined && { stop }) });
      } catch (error) {
        if (logErrors.END_OF_STREAM.is(error) || (logErrors.READER_CLOSED.is(error) && this.#isClosed)) return;
        throw error;
      }
      yield* records;
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watch.stop();
    this.#wake.abort();
    await this.#last;
    await this.#leaveSegment();
    this.#records = [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #read(options: ReadOptions): Promise<LogRecord[]> {
    const { recordsMax = recordsMaxDefault, bytesMax = bytesMaxDefault, waitMs = 0, stop } = options;
    const { clock, random } = this.#d;
    const backoff = new Backoff({ random, delayMsMin: pollMsMin, delayMsMax: pollMsMax });
    const deadlineMs = clock.monoMs() + waitMs;
    for (;;) {
      if (this.#isClosed) throw logErrors.READER_CLOSED(this.name);
      if (this.#records.length > 0) return this.#take(recordsMax, bytesMax);
      if (this.#isEnded) throw logErrors.END_OF_STREAM(this.name);
      this.#wake = new AbortController();
      if ((await this.#step()) !== 'caught up') continue;
      const leftMs = deadlineMs - clock.monoMs();
      if (leftMs <= 0 || stop?.aborted) return [];
      await this.#pause(leftMs, backoff, stop);
    }
  }

  /** Until more may be there: the head changed, a bookie tells of an entry, or some time has passed. */
  async #pause(leftMs: number, backoff: Backoff, stop: AbortSignal | undefined): Promise<void> {
    const { clock } = this.#d;
    const wake = this.#wake;
    const stopped = () => wake.abort();
    stop?.addEventListener('abort', stopped);
    const segment = this.#segment;
    // A closed ledger answers at once; what follows is told by the head.
    if (segment === undefined || segment.isClosed) await clock.sleep(Math.min(leftMs, backoff.nextDelayMs()), wake.signal);
    else {
      const more = segment.waitForMore(Math.min(leftMs, longPollMs)).catch(() => clock.sleep(backoff.nextDelayMs(), wake.signal));
      await Promise.race([more, clock.sleep(leftMs, wake.signal)]);
      wake.abort();
    }
    stop?.removeEventListener('abort', stopped);
  }

  #take(recordsMax: number, bytesMax: number): LogRecord[] {
    let count = 0;
    for (let bytes = 0; count < this.#records.length && count < Math.max(1, recordsMax); count++) {
      bytes += this.#records[count]?.payload.length ?? 0;
      if (count > 0 && bytes > bytesMax) break;
    }
    return this.#records.splice(0, count);
  }

  /** One move forward. Whatever fails leaves the position as it was. */
  async #step(): Promise<Step> {
    const segment = this.#segment ?? (await this.#enterSegment());
    if (segment === undefined) return 'caught up';
    try {
      let last = segment.lastEntryId;
      if (this.#position.entryId > last) last = await segment.refresh();
      if (this.#position.entryId > last) return await this.#atSegmentEnd(segment);
      for (const entry of await segment.read(this.#position.entryId, bytesMaxDefault)) this.#pass(segment, entry);
      return this.#isEnded ? 'ended' : 'moved';
    } catch (error) {
      if (!ledgerErrors.NOT_FOUND.is(error)) throw error;
      // Purged meanwhile: coming in again says so.
      await this.#leaveSegment();
      this.#isHeadChanged = true;
      return 'moved';
    }
  }

  /** Opens the segment that the position is in, or the next one if there is none of that number. Undefined when it has not begun. */
  async #enterSegment(): Promise<SegmentReader | undefined> {
    if (!this.#isHeadDue()) return undefined;
    this.#headIsRead();
    const { metadata, ledgers, password } = this.#d;
    const { head, segments } = await metadata.snapshot(this.#position.sequence);
    if (head.firstSequence > this.#position.sequence) this.#skipTo({ sequence: head.firstSequence, entryId: 0, slot: 0 });
    const segment = segments.find(({ sequence }) => sequence >= this.#position.sequence);
    if (segment === undefined) return undefined;
    if (segment.sequence > this.#position.sequence) this.#position = { sequence: segment.sequence, entryId: 0, slot: 0 };
    this.#skipTruncated(segment);
    // Truncated as a whole: the next one.
    if (segment.sequence !== this.#position.sequence) {
      this.#isHeadChanged = true;
      return this.#enterSegment();
    }
    this.#segment = await SegmentReader.open(ledgers, password, this.name, segment);
    if (this.#segment === undefined) await this.#ledgerIsGone(segment);
    return this.#segment;
  }

  #skipTruncated(segment: LogSegment): void {
    const { sequence, status, firstActiveEntryId, firstActiveSlot } = segment;
    if (status === 'truncated') this.#skipTo({ sequence: sequence + 1, entryId: 0, slot: 0 });
    else this.#skipTo({ sequence, entryId: firstActiveEntryId, slot: firstActiveSlot });
  }

  #skipTo(active: LogPosition): void {
    if (compareLogPositions(this.#position, active) >= 0) return;
    if (this.#ifTruncated === 'fail') throw logErrors.TRUNCATED(this.name, formatPosition(this.#position), formatPosition(active));
    this.#d.logger.info({ log: this.name, from: formatPosition(this.#position), to: formatPosition(active) }, 'reader skips what was truncated');
    this.#position = active;
  }

  /** Either it was purged between two looks (then we look again), or it is lost. */
  async #ledgerIsGone({ sequence, ledgerId }: LogSegment): Promise<void> {
    const { segments } = await this.#d.metadata.snapshot(sequence);
    if (segments.some((segment) => segment.ledgerId === ledgerId))
      throw logErrors.SEGMENT_LOST(this.name, sequence, ledgerId, 'its ledger was deleted');
    this.#isHeadChanged = true;
  }

  /** Everything known of the segment was read. */
  async #atSegmentEnd(reader: SegmentReader): Promise<Step> {
    const { segment } = reader;
    if (segment.kind === 'completed') {
      await this.#leaveSegment();
      this.#position = { sequence: segment.sequence + 1, entryId: 0, slot: 0 };
      this.#isHeadChanged = true;
      return 'moved';
    }
    if (!this.#isHeadDue()) return 'caught up';
    this.#headIsRead();
    const { head } = await this.#d.metadata.readHead();
    if (head.inProgress.some(({ ledgerId, status }) => ledgerId === segment.ledgerId && status !== 'truncated')) return 'caught up';
    this.#isHeadChanged = true;
    return this.#afterProgress(reader);
  }

  /** The segment is not in progress any more: completed, or dropped as empty, and perhaps purged since. Its closed ledger says where it ends. */
  async #afterProgress(reader: SegmentReader): Promise<Step> {
    if ((await reader.refresh()) >= this.#position.entryId) return 'moved';
    await this.#leaveSegment();
    if (reader.isClosed) this.#position = { sequence: reader.segment.sequence + 1, entryId: 0, slot: 0 };
    return 'moved';
  }

  #pass(reader: SegmentReader, { entryId, records }: SegmentEntry): void {
    const { sequence, startSequenceId } = reader.segment;
    for (const [slot, record] of records.entries()) {
      const position = { sequence, entryId, slot };
      if (compareLogPositions(position, this.#position) < 0) continue;
      this.#position = nextPosition(position);
      if (record.isEndOfStream) this.#isEnded = true;
      if (record.isControl || record.txId < this.#minTxId) continue;
      const { txId, payload, countInSegment } = record;
      this.#records.push({ position, txId, payload, sequenceId: startSequenceId + countInSegment - 1 });
    }
    this.#position = { sequence, entryId: entryId + 1, slot: 0 };
  }

  #isHeadDue(): boolean {
    return this.#isHeadChanged || this.#d.clock.monoMs() - this.#headReadMs >= headMsMax;
  }

  /** Before reading it: a change that comes meanwhile counts. */
  #headIsRead(): void {
    this.#isHeadChanged = false;
    this.#headReadMs = this.#d.clock.monoMs();
  }

  async #leaveSegment(): Promise<void> {
    const segment = this.#segment;
    this.#segment = undefined;
    await segment?.close();
  }
}
