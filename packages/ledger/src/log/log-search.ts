import type { LedgerClient } from '../ledger-api.js';
import { logErrors } from './errors.js';
import type { LogRecord } from './log-api.js';
import type { LogMetadata } from './log-metadata.js';
import type { LogPosition } from './log-position.js';
import type { LogSegment } from './segment-format.js';
import { type SegmentEntry, SegmentReader } from './segment-reader.js';
import type { TransactionId } from './transaction-id.js';

export interface LogSearchDependencies {
  metadata: LogMetadata;
  ledgers: LedgerClient;
  password: Uint8Array;
}

/** What is visible and was not truncated. */
function isActive(segment: LogSegment): boolean {
  return segment.status !== 'truncated';
}

/** The place of the first record whose transaction id is at least `txId`; a place behind everything visible when there is none. */
export async function searchTxId(d: LogSearchDependencies, txId: TransactionId): Promise<{ position: LogPosition; isFound: boolean }> {
  const { segments } = await d.metadata.snapshot();
  let end: LogPosition | undefined;
  for (const segment of segments.filter(isActive)) {
    if (segment.kind === 'completed' && segment.lastTxId < txId) {
      end = { sequence: segment.sequence + 1, entryId: 0, slot: 0 };
      continue;
    }
    const found = await withReader(d, segment, (reader) => searchSegment(reader, txId));
    // In progress: what is looked for may still come there, whatever a later segment has.
    if (found !== undefined && (found.isFound || segment.kind === 'in progress')) return found;
    end = { sequence: segment.sequence + 1, entryId: 0, slot: 0 };
  }
  return { position: end ?? { sequence: 1, entryId: 0, slot: 0 }, isFound: false };
}

/** Transaction ids never go back, from entry to entry: halving finds the first entry whose last one is high enough. */
async function searchSegment(reader: SegmentReader, txId: TransactionId): Promise<{ position: LogPosition; isFound: boolean }> {
  const { sequence, firstActiveEntryId, firstActiveSlot } = reader.segment;
  const last = await reader.refresh();
  let low = firstActiveEntryId;
  let high = last + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const lastTxId = (await reader.readOne(middle)).records.at(-1)?.txId ?? -1;
    if (lastTxId < txId) low = middle + 1;
    else high = middle;
  }
  // From there on the first one that is the application's.
  for (let entryId = low; entryId <= last; entryId++) {
    const { records } = await reader.readOne(entryId);
    const firstSlot = entryId === firstActiveEntryId ? firstActiveSlot : 0;
    const slot = records.findIndex((record, index) => index >= firstSlot && !record.isControl && record.txId >= txId);
    if (slot >= 0) return { position: { sequence, entryId, slot }, isFound: true };
  }
  return { position: { sequence, entryId: last + 1, slot: 0 }, isFound: false };
}

/** The last record visible; rejects with `LOG_EMPTY`. */
export async function lastRecordOf(d: LogSearchDependencies): Promise<LogRecord> {
  const { segments } = await d.metadata.snapshot();
  for (const segment of segments.filter(isActive).reverse()) {
    const found = await withReader(d, segment, lastOfSegment);
    if (found !== undefined) return found;
  }
  throw logErrors.EMPTY(d.metadata.name);
}

async function lastOfSegment(reader: SegmentReader): Promise<LogRecord | undefined> {
  const { firstActiveEntryId, firstActiveSlot } = reader.segment;
  for (let entryId = await reader.refresh(); entryId >= firstActiveEntryId; entryId--) {
    const entry = await reader.readOne(entryId);
    const slot = entry.records.findLastIndex((record) => !record.isControl);
    if (slot >= (entryId === firstActiveEntryId ? firstActiveSlot : 0)) return recordOf(reader, entry, slot);
  }
  return undefined;
}

function recordOf({ segment }: SegmentReader, { entryId, records }: SegmentEntry, slot: number): LogRecord {
  const { txId, payload, countInSegment } = records[slot] as SegmentEntry['records'][number];
  return { position: { sequence: segment.sequence, entryId, slot }, txId, payload, sequenceId: segment.startSequenceId + countInSegment - 1 };
}

/** Visible records that were not truncated. */
export async function countRecords(d: LogSearchDependencies): Promise<number> {
  const { segments } = await d.metadata.snapshot();
  let count = 0;
  for (const segment of segments.filter(isActive)) {
    if (segment.kind === 'completed' && segment.status === 'active') count += segment.recordsCount;
    else count += (await withReader(d, segment, countSegment)) ?? 0;
  }
  return count;
}

async function countSegment(reader: SegmentReader): Promise<number> {
  const { firstActiveEntryId, firstActiveSlot } = reader.segment;
  const last = await reader.refresh();
  if (last < firstActiveEntryId) return 0;
  const until = (await reader.readOne(last)).records.at(-1)?.countInSegment ?? 0;
  const { records } = await reader.readOne(firstActiveEntryId);
  const first = records[firstActiveSlot];
  // A record's number counts itself.
  const before = first === undefined ? (records.at(-1)?.countInSegment ?? 0) : first.countInSegment - (first.isControl ? 0 : 1);
  return until - before;
}

export async function isEndMarked(d: LogSearchDependencies): Promise<boolean> {
  const { head, segments } = await d.metadata.snapshot();
  if (head.lastTxId === Number.POSITIVE_INFINITY) return true;
  const last = segments.at(-1);
  if (last?.kind !== 'in progress') return false;
  const marked = await withReader(d, last, async (reader) => {
    const lastEntryId = await reader.refresh();
    return lastEntryId >= 0 && ((await reader.readOne(lastEntryId)).records.at(-1)?.isEndOfStream ?? false);
  });
  return marked ?? false;
}

/** Undefined when the segment's ledger is gone: purged meanwhile. */
async function withReader<T>(d: LogSearchDependencies, segment: LogSegment, use: (reader: SegmentReader) => Promise<T>): Promise<T | undefined> {
  const reader = await SegmentReader.open(d.ledgers, d.password, d.metadata.name, segment);
  if (reader === undefined) return undefined;
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}
