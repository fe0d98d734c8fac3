import { formDecode, formEncode, type LedgerId, ledgerId } from '@daybook/proto';
import { logErrors } from './errors.js';
import { decodeSegment, encodeSegment, type InProgressSegment } from './segment-format.js';
import { noTxId, type TransactionId, txIdFromBigInt, txIdToBigInt } from './transaction-id.js';

/**
 * What a log is right now, apart from its completed segments. One value, changed by compare-and-set: where DistributedLog changes several keys in one
 * transaction, here it is this one.
 */
export interface LogHead {
  /** `deleting`: whoever finds it may finish that. */
  readonly state: 'open' | 'deleting';
  /** Rises with each owner. */
  readonly epoch: number;
  /** The last owner: who, then `#` and a token that no other claim has. A writer changes the head only while it finds its own claim. */
  readonly owner: string;
  /** The highest number ever given to a segment. */
  readonly highestSequence: number;
  /** Completed segments below were purged, also when their keys are still there. */
  readonly firstSequence: number;
  /** Of the completed segments; `endOfStreamTxId` when the log was ended. */
  readonly lastTxId: TransactionId;
  /** Of all segments ever completed. */
  readonly recordsCount: number;
  /** A ledger made for the next segment. */
  readonly allocated: LedgerId | undefined;
  /** At most two while a writer rolls. A `truncated` one turned out to be empty and is being dropped. */
  readonly inProgress: readonly InProgressSegment[];
}

export const newHead: LogHead = {
  state: 'open',
  epoch: 0,
  owner: '',
  highestSequence: 0,
  firstSequence: 1,
  lastTxId: noTxId,
  recordsCount: 0,
  allocated: undefined,
  inProgress: [],
};

/**
 * Lines (persisted). The first, joined by `;`: version 1, state (0 open, 1 deleting), epoch, owner (form-encoded), highest sequence, first sequence, last txid (-1
 * none), count of records, allocated ledger (-1 none). Then one line per segment in progress, as `segment-format.ts` has it, ascending.
 */
export function encodeHead(head: LogHead): Buffer {
  const { state, epoch, owner, highestSequence, firstSequence, lastTxId, recordsCount, allocated, inProgress } = head;
  const first = [version, states.indexOf(state), epoch, formEncode(owner), highestSequence, firstSequence, txIdToBigInt(lastTxId), recordsCount];
  return Buffer.from([[...first, allocated ?? -1].join(';'), ...inProgress.map(encodeSegment)].join('\n'));
}

const version = '1';
const states = ['open', 'deleting'] as const;

/** Takes exactly what {@link encodeHead} makes. Rejects with `LOG_MALFORMED`, `LOG_UNSUPPORTED_VERSION`. */
export function decodeHead(bytes: Uint8Array, what: string): LogHead {
  const [line = '', ...segments] = Buffer.from(bytes).toString().split('\n');
  const fields = line.split(';');
  if (/^\d{1,9}$/.test(fields[0] as string) && fields[0] !== version) throw logErrors.UNSUPPORTED_VERSION(what, fields[0] as string);
  const [, state, epoch, owner, highestSequence, firstSequence, lastTxId, recordsCount, allocated] = fields;
  const head: LogHead = {
    state: states[Number(state)] ?? 'open',
    epoch: naturalOf(epoch),
    owner: formDecode(owner ?? '') ?? '',
    highestSequence: naturalOf(highestSequence),
    firstSequence: naturalOf(firstSequence),
    lastTxId: /^-?\d{1,19}$/.test(lastTxId ?? '') ? (txIdFromBigInt(BigInt(lastTxId as string)) ?? noTxId) : noTxId,
    recordsCount: naturalOf(recordsCount),
    allocated: allocated === '-1' ? undefined : ledgerId(naturalOf(allocated)),
    inProgress: segments.map((text) => decodeInProgress(text, what)),
  };
  // Whatever is odd does not survive the way back.
  if (!encodeHead(head).equals(bytes)) throw logErrors.MALFORMED(what, `it begins with "${line.slice(0, 200)}"`);
  return head;
}

function naturalOf(field: string | undefined): number {
  return Number.isSafeInteger(Number(field)) ? Math.max(0, Number(field)) : 0;
}

function decodeInProgress(text: string, what: string): InProgressSegment {
  const segment = decodeSegment(text, what);
  if (segment.kind !== 'in progress') throw logErrors.MALFORMED(what, `segment ${segment.sequence} is completed`);
  return segment;
}
