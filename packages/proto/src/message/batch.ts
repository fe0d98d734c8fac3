import { decoding, Malformed, protoErrors } from '../errors.js';
import { readUint32, writeUint32 } from '../wire/int64.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';
import { type KeyValue, readKeyValue, writeKeyValues } from './metadata.js';

/**
 * What one message of a batch has of its own: Pulsar's SingleMessageMetadata.
 *
 * 1 properties, 2 partition_key, 3 payload_size, 4 compacted_out, 5 event_time, 6 partition_key_b64_encoded, 7 ordering_key, 8 sequence_id, 9 null_value,
 * 10 null_partition_key.
 */
export interface SingleMessageMetadata {
  properties: KeyValue[];
  partitionKey?: string;
  isCompactedOut?: boolean;
  eventTimeMs?: number;
  isPartitionKeyBase64?: boolean;
  orderingKey?: Uint8Array;
  sequenceId?: bigint;
  isNullValue?: boolean;
  isNullPartitionKey?: boolean;
}

export interface BatchedMessage {
  readonly metadata: SingleMessageMetadata;
  /** A view into the batch. */
  readonly payload: Buffer;
}

/**
 * The messages of a batch's payload (uncompressed): each is a u32 with the size of its metadata, the metadata, and `payload_size` bytes.
 * Throws `PROTO_MESSAGE_MALFORMED` unless the payload holds exactly `count` messages.
 */
export function splitBatch(payload: Buffer, count: number): BatchedMessage[] {
  return decoding(protoErrors.MESSAGE_MALFORMED, () => {
    const messages: BatchedMessage[] = [];
    let offset = 0;
    while (offset < payload.length) {
      if (messages.length >= count) throw new Malformed(`its batch holds more than ${count} messages`);
      offset = readMessage(payload, offset, messages);
    }
    if (messages.length !== count) throw new Malformed(`its batch holds ${messages.length} messages, not ${count}`);
    return messages;
  });
}

function readMessage(payload: Buffer, offset: number, into: BatchedMessage[]): number {
  const metadataStart = offset + 4;
  const metadataEnd = metadataStart <= payload.length ? metadataStart + readUint32(payload, offset) : Number.POSITIVE_INFINITY;
  if (metadataEnd > payload.length) throw new Malformed('its batch is cut off');
  const { metadata, payloadBytes } = readSingle(new WireReader(payload, metadataStart, metadataEnd));
  const end = metadataEnd + payloadBytes;
  if (payloadBytes < 0 || end > payload.length) throw new Malformed('its batch is cut off');
  into.push({ metadata, payload: payload.subarray(metadataEnd, end) });
  return end;
}

function readSingle(reader: WireReader): { metadata: SingleMessageMetadata; payloadBytes: number } {
  const metadata: SingleMessageMetadata = { properties: [] };
  let payloadBytes: number | undefined;
  while (reader.next()) {
    switch (reader.field) {
      case 1:
        metadata.properties.push(readKeyValue(reader.message()));
        break;
      case 2:
        metadata.partitionKey = reader.string();
        break;
      case 3:
        payloadBytes = reader.int32();
        break;
      case 4:
        metadata.isCompactedOut = reader.bool();
        break;
      case 5:
        metadata.eventTimeMs = reader.uintSaturated();
        break;
      case 6:
        metadata.isPartitionKeyBase64 = reader.bool();
        break;
      case 7:
        metadata.orderingKey = reader.bytes();
        break;
      case 8:
        metadata.sequenceId = reader.uint64();
        break;
      case 9:
        metadata.isNullValue = reader.bool();
        break;
      case 10:
        metadata.isNullPartitionKey = reader.bool();
        break;
      default:
        reader.skip();
    }
  }
  if (payloadBytes === undefined) throw new Malformed('a message of its batch has no size');
  return { metadata, payloadBytes };
}

/** The payload of a batch: the reverse of {@link splitBatch}. */
export function joinBatch(messages: readonly { metadata: SingleMessageMetadata; payload: Uint8Array }[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const { metadata, payload } of messages) {
    const head = writeSingle(metadata, payload.length).finish();
    const size = new Uint8Array(4);
    writeUint32(size, 0, head.length);
    parts.push(size, head, payload);
  }
  return Buffer.concat(parts);
}

function writeSingle(metadata: SingleMessageMetadata, payloadBytes: number): WireWriter {
  const writer = new WireWriter();
  writeKeyValues(writer, 1, metadata.properties);
  if (metadata.partitionKey !== undefined) writer.string(2, metadata.partitionKey);
  writer.int(3, payloadBytes);
  if (metadata.isCompactedOut !== undefined) writer.bool(4, metadata.isCompactedOut);
  if (metadata.eventTimeMs !== undefined) writer.int(5, metadata.eventTimeMs);
  if (metadata.isPartitionKeyBase64 !== undefined) writer.bool(6, metadata.isPartitionKeyBase64);
  if (metadata.orderingKey !== undefined) writer.bytes(7, metadata.orderingKey);
  if (metadata.sequenceId !== undefined) writer.int(8, metadata.sequenceId);
  if (metadata.isNullValue !== undefined) writer.bool(9, metadata.isNullValue);
  if (metadata.isNullPartitionKey !== undefined) writer.bool(10, metadata.isNullPartitionKey);
  return writer;
}
