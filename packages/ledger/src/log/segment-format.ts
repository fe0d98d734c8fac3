import { type LedgerId, ledgerId } from '@daybook/proto';
import { logErrors } from './errors.js';
import { type TransactionId, txIdFromBigInt, txIdToBigInt } from './transaction-id.js';

/** `truncated`: no record of it is needed any more; `partially truncated`: those before the first active place are not. */
export type TruncationStatus = 'active' | 'partially truncated' | 'truncated';

interface SegmentCommon {
  readonly ledgerId: LedgerId;
  /** From 1, in the order of the records; a number whose segment stayed empty is skipped. */
  readonly sequence: number;
  /** Of the first record that was to be written when the segment began. */
  readonly firstTxId: TransactionId;
  readonly status: TruncationStatus;
  /** The first place that was not truncated. */
  readonly firstActiveEntryId: number;
  readonly firstActiveSlot: number;
  /** How many records the log had before this segment. */
  readonly startSequenceId: number;
}

/** A ledger that is, or was until its writer died, being written. */
export interface InProgressSegment extends SegmentCommon {
  readonly kind: 'in progress';
}

/** A closed ledger. */
export interface CompletedSegment extends SegmentCommon {
  readonly kind: 'completed';
  readonly lastTxId: TransactionId;
  readonly completedAtMs: number;
  readonly lastEntryId: number;
  readonly lastSlot: number;
  /** Control records not counted. */
  readonly recordsCount: number;
}

export type LogSegment = InProgressSegment | CompletedSegment;

/**
 * A segment as text (persisted; DistributedLog's log segment metadata, version 5), joined by `;`:
 *
 * | kind | fields |
 * |---|---|
 * | in progress (7) | flags, ledger id, first txid, sequence, first active entry, first active slot, start sequence id |
 * | completed (11) | flags, ledger id, first txid, last txid, completion time, sequence, last entry, last slot, first active entry and slot, start sequence id |
 *
 * flags: bits 0-7 version, 8-15 status (0 active, 1 partially truncated, 2 truncated), 28-31 region (0), 32-63 count of records (0 in progress).
 */
export function encodeSegment(segment: LogSegment): string {
  const isCompleted = segment.kind === 'completed';
  const flags = version | (BigInt(statuses.indexOf(segment.status)) << 8n) | (BigInt(isCompleted ? segment.recordsCount : 0) << 32n);
  const head = [flags, segment.ledgerId, txIdToBigInt(segment.firstTxId)];
  const middle = isCompleted
    ? [txIdToBigInt(segment.lastTxId), segment.completedAtMs, segment.sequence, segment.lastEntryId, segment.lastSlot]
    : [segment.sequence];
  return [...head, ...middle, segment.firstActiveEntryId, segment.firstActiveSlot, segment.startSequenceId].join(';');
}

const version = 5n;
const statuses: readonly TruncationStatus[] = ['active', 'partially truncated', 'truncated'];
const fieldsInProgress = 7;
const fieldsCompleted = 11;

/** Takes exactly what {@link encodeSegment} makes. Rejects with `LOG_MALFORMED`, `LOG_UNSUPPORTED_VERSION`. */
export function decodeSegment(text: string, what: string): LogSegment {
  const fields = text.split(';');
  const isNumbers = fields.every((field) => /^-?\d{1,19}$/.test(field));
  const [flags = 0n, ...values] = isNumbers ? fields.map(BigInt) : [];
  if (isNumbers && (flags & 0xffn) !== version) throw logErrors.UNSUPPORTED_VERSION(what, flags & 0xffn);
  const segment = segmentOf(flags, values);
  // Whatever else is odd (numbers out of range, unknown flags, leading zeros) does not survive the way back.
  if (segment === undefined || encodeSegment(segment) !== text) throw logErrors.MALFORMED(what, `"${text.slice(0, 200)}" is no segment`);
  return segment;
}

function segmentOf(flags: bigint, values: readonly bigint[]): LogSegment | undefined {
  const isCompleted = values.length === fieldsCompleted - 1;
  const status = statuses[Number((flags >> 8n) & 0x3n)];
  if (status === undefined || (!isCompleted && values.length !== fieldsInProgress - 1)) return undefined;
  const numbers = values.map((value) => (value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : 0));
  const at = (index: number) => numbers.at(index) as number;
  const common = {
    ledgerId: ledgerId(at(0)),
    firstTxId: txIdFromBigInt(values[1] as bigint) ?? 0,
    status,
    firstActiveEntryId: at(-3),
    firstActiveSlot: at(-2),
    startSequenceId: at(-1),
  };
  if (!isCompleted) return { kind: 'in progress', sequence: at(2), ...common };
  return {
    kind: 'completed',
    ...common,
    lastTxId: txIdFromBigInt(values[2] as bigint) ?? 0,
    completedAtMs: at(3),
    sequence: at(4),
    lastEntryId: at(5),
    lastSlot: at(6),
    recordsCount: Number(flags >> 32n),
  };
}
