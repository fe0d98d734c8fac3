import { bytesOfBase64, shortBase64 } from './base64.js';
import { decoding, Malformed, protoErrors } from './errors.js';
import type { EntryId, LedgerId, Position } from './ids.js';
import { WireReader } from './wire/reader.js';
import { WireWriter, writeVarint } from './wire/writer.js';

/**
 * Which message a client means: Pulsar's MessageIdData, opaque base64 to WebSocket clients. Runs in browsers.
 *
 * | # | field | written |
 * |---|---|---|
 * | 1 | ledgerId, uint64 | always; "earliest" is -1, ten bytes |
 * | 2 | entryId, uint64 | always |
 * | 3 | partition, int32 | from 0 on |
 * | 4 | batch_index, int32 | from 0 on: a message of a batch |
 * | 5 | ack_set, int64 repeated | when not empty |
 * | 6 | batch_size, int32 | when known; 0 for a message outside a batch, so that ids end as Pulsar 4 writes them |
 * | 7 | first_chunk_message_id | chunked messages |
 *
 * Ids here are 64-bit: any client may send any. {@link positionOf} narrows them.
 */
export interface MessageId {
  readonly ledgerId: bigint;
  readonly entryId: bigint;
  /** -1: the topic has no partitions. */
  readonly partition: number;
  /** -1: not in a batch. */
  readonly batchIndex: number;
  /** Undefined: the id does not say. */
  readonly batchSize: number | undefined;
  readonly ackSet: readonly bigint[];
  readonly firstChunk: MessageId | undefined;
}

/** Where a message of a topic lies. Anything left out is "none". */
export interface MessageIdParts {
  readonly partition?: number;
  readonly batchIndex?: number;
  readonly batchSize?: number;
}

const int64Max = 0x7fff_ffff_ffff_ffffn;
const textLengthMax = 4096;

export const earliestMessageId = messageIdOf(-1n, -1n);
export const latestMessageId = messageIdOf(int64Max, int64Max);

export function messageIdOf(ledgerId: bigint, entryId: bigint, parts: MessageIdParts = {}): MessageId {
  return {
    ledgerId,
    entryId,
    partition: parts.partition ?? -1,
    batchIndex: parts.batchIndex ?? -1,
    batchSize: parts.batchSize ?? 0,
    ackSet: [],
    firstChunk: undefined,
  };
}

export function encodeMessageId(id: MessageId): Uint8Array {
  return writeMessageId(id).finishBytes();
}

function writeMessageId(id: MessageId): WireWriter {
  const writer = new WireWriter(40).int(1, id.ledgerId).int(2, id.entryId);
  if (id.partition >= 0) writer.int(3, id.partition);
  if (id.batchIndex >= 0) writer.int(4, id.batchIndex);
  for (const word of id.ackSet) writer.int(5, word);
  if (id.batchSize !== undefined) writer.int(6, id.batchSize);
  if (id.firstChunk !== undefined) writer.message(7, writeMessageId(id.firstChunk));
  return writer;
}

export function encodeMessageIdText(id: MessageId): string {
  const bytes = encodeMessageId(id);
  return shortBase64(bytes, bytes.length);
}

/** Ids of bytes; unknown fields are passed over. Throws `PROTO_MESSAGE_ID_MALFORMED`. */
export function decodeMessageId(bytes: Uint8Array): MessageId {
  return decoding(protoErrors.MESSAGE_ID_MALFORMED, () => readMessageId(new WireReader(bytes), true));
}

/** Ids of base64 text (padding may be missing). Throws `PROTO_MESSAGE_ID_MALFORMED`. */
export function decodeMessageIdText(text: string): MessageId {
  if (text.length > textLengthMax) throw protoErrors.MESSAGE_ID_MALFORMED(`${text.length} characters`);
  const bytes = bytesOfBase64(text);
  if (bytes === undefined) throw protoErrors.MESSAGE_ID_MALFORMED('it is not base64');
  return decodeMessageId(bytes);
}

function readMessageId(reader: WireReader, mayHaveFirstChunk: boolean): MessageId {
  let ledgerId: bigint | undefined;
  let entryId: bigint | undefined;
  let partition = -1;
  let batchIndex = -1;
  let batchSize: number | undefined;
  let firstChunk: MessageId | undefined;
  const ackSet: bigint[] = [];
  while (reader.next()) {
    if (reader.field === 1) ledgerId = reader.int64();
    else if (reader.field === 2) entryId = reader.int64();
    else if (reader.field === 3) partition = reader.int32();
    else if (reader.field === 4) batchIndex = reader.int32();
    else if (reader.field === 5) reader.repeated((one) => ackSet.push(one.int64()));
    else if (reader.field === 6) batchSize = reader.int32();
    // A chunk's first id has none of its own: nesting stops here, however deep the input goes.
    else if (reader.field === 7 && mayHaveFirstChunk) firstChunk = readMessageId(reader.message(), false);
    else reader.skip();
  }
  if (ledgerId === undefined || entryId === undefined) throw new Malformed('it names no ledger or no entry');
  return { ledgerId, entryId, partition, batchIndex, batchSize, ackSet, firstChunk };
}

const scratch = new Uint8Array(64);

/** The text of a stored message's id, the hot path: no bigint, no intermediate object. `partition` and `batchIndex` are -1 for "none". */
export function messageIdText(ledgerId: LedgerId, entryId: EntryId, partition: number, batchIndex: number, batchSize: number): string {
  if (entryId < 0) return encodeMessageIdText(messageIdOf(BigInt(ledgerId), BigInt(entryId), { partition, batchIndex, batchSize }));
  scratch[0] = 0x08;
  let end = writeVarint(scratch, 1, ledgerId);
  scratch[end++] = 0x10;
  end = writeVarint(scratch, end, entryId);
  if (partition >= 0) {
    scratch[end++] = 0x18;
    end = writeVarint(scratch, end, partition);
  }
  if (batchIndex >= 0) {
    scratch[end++] = 0x20;
    end = writeVarint(scratch, end, batchIndex);
  }
  scratch[end++] = 0x30;
  end = writeVarint(scratch, end, batchSize);
  return shortBase64(scratch, end);
}

/** The stored place an id names; undefined when it can be none of ours: beyond 2^53, a negative ledger or an entry below -1 ("earliest", "latest" included). */
export function positionOf(id: MessageId): Position | undefined {
  const ledgerId = Number(id.ledgerId);
  const entryId = Number(id.entryId);
  if (!Number.isSafeInteger(ledgerId) || !Number.isSafeInteger(entryId) || ledgerId < 0 || entryId < -1) return undefined;
  return { ledgerId: ledgerId as LedgerId, entryId: entryId as EntryId };
}

export function isEarliest(id: MessageId): boolean {
  return id.ledgerId === -1n && id.entryId === -1n;
}

export function isLatest(id: MessageId): boolean {
  return id.ledgerId === int64Max && id.entryId === int64Max;
}
