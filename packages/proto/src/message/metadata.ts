import { Malformed } from '../errors.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';

export type Compression = 'NONE' | 'LZ4' | 'ZLIB' | 'ZSTD' | 'SNAPPY';

/** Persisted numbers of CompressionType. */
export const compressionNumbers: Readonly<Record<Compression, number>> = { NONE: 0, LZ4: 1, ZLIB: 2, ZSTD: 3, SNAPPY: 4 };

export interface KeyValue {
  readonly key: string;
  readonly value: string;
}

export interface EncryptionKey {
  readonly key: string;
  readonly value: Uint8Array;
  readonly metadata: readonly KeyValue[];
}

/**
 * What is stored with every message: Pulsar's MessageMetadata. Fields that are not set are undefined; `properties` and the other lists are then empty.
 * Times beyond 2^53 are read as 2^53-1. Bytes are views into what was decoded.
 */
export interface MessageMetadata {
  producerName: string;
  sequenceId: bigint;
  publishTimeMs: number;
  properties: KeyValue[];
  replicatedFrom?: string;
  partitionKey?: string;
  replicateTo: string[];
  compression?: Compression;
  uncompressedBytes?: number;
  /** Set: the payload is a batch (message/batch.ts), also with 1. */
  messagesInBatch?: number;
  eventTimeMs?: number;
  encryptionKeys: EncryptionKey[];
  encryptionAlgorithm?: string;
  encryptionParameter?: Uint8Array;
  schemaVersion?: Uint8Array;
  isPartitionKeyBase64?: boolean;
  orderingKey?: Uint8Array;
  deliverAtMs?: number;
  markerType?: number;
  transactionLeastBits?: bigint;
  transactionMostBits?: bigint;
  highestSequenceId?: bigint;
  isNullValue?: boolean;
  uuid?: string;
  chunksCount?: number;
  totalChunkBytes?: number;
  chunkId?: number;
  isNullPartitionKey?: boolean;
  compactedBatchIndexes: number[];
  schemaId?: Uint8Array;
}

/**
 * | # | field | # | field | # | field |
 * |---|---|---|---|---|---|
 * | 1 | producer_name | 12 | event_time | 23 | txnid_most_bits |
 * | 2 | sequence_id u64 | 13 | encryption_keys | 24 | highest_sequence_id |
 * | 3 | publish_time | 14, 15 | encryption_algo, _param | 25 | null_value |
 * | 4 | properties | 16 | schema_version | 26 | uuid |
 * | 5 | replicated_from | 17 | partition_key_b64_encoded | 27 | num_chunks_from_msg |
 * | 6 | partition_key | 18 | ordering_key | 28 | total_chunk_msg_size |
 * | 7 | replicate_to | 19 | deliver_at_time | 29 | chunk_id |
 * | 8 | compression | 20 | marker_type | 30 | null_partition_key |
 * | 9 | uncompressed_size | 22 | txnid_least_bits | 31 | compacted_batch_indexes |
 * | 11 | num_messages_in_batch | | | 32 | schema_id |
 */
export function readMessageMetadata(bytes: Uint8Array, from: number, to: number): MessageMetadata {
  const reader = new WireReader(bytes, from, to);
  const metadata: MessageMetadata = {
    producerName: '',
    sequenceId: 0n,
    publishTimeMs: 0,
    properties: [],
    replicateTo: [],
    encryptionKeys: [],
    compactedBatchIndexes: [],
  };
  let required = 0;
  while (reader.next()) {
    if (reader.field <= 3) required |= 1 << reader.field;
    if (reader.field <= 12) readCommonField(metadata, reader);
    else readRareField(metadata, reader);
  }
  if (required !== 0b1110) throw new Malformed('its metadata lacks producer, sequence id or publish time');
  return metadata;
}

function readCommonField(metadata: MessageMetadata, reader: WireReader): void {
  switch (reader.field) {
    case 1:
      metadata.producerName = reader.string();
      break;
    case 2:
      metadata.sequenceId = reader.uint64();
      break;
    case 3:
      metadata.publishTimeMs = reader.uintSaturated();
      break;
    case 4:
      metadata.properties.push(readKeyValue(reader.message()));
      break;
    case 5:
      metadata.replicatedFrom = reader.string();
      break;
    case 6:
      metadata.partitionKey = reader.string();
      break;
    case 7:
      metadata.replicateTo.push(reader.string());
      break;
    case 8:
      metadata.compression = compressionOf(reader.int32());
      break;
    case 9:
      metadata.uncompressedBytes = reader.uintSaturated();
      break;
    case 11:
      metadata.messagesInBatch = reader.int32();
      break;
    case 12:
      metadata.eventTimeMs = reader.uintSaturated();
      break;
    default:
      reader.skip();
  }
}

function readRareField(metadata: MessageMetadata, reader: WireReader): void {
  switch (reader.field) {
    case 13:
      metadata.encryptionKeys.push(readEncryptionKey(reader.message()));
      break;
    case 14:
      metadata.encryptionAlgorithm = reader.string();
      break;
    case 15:
      metadata.encryptionParameter = reader.bytes();
      break;
    case 16:
      metadata.schemaVersion = reader.bytes();
      break;
    case 17:
      metadata.isPartitionKeyBase64 = reader.bool();
      break;
    case 18:
      metadata.orderingKey = reader.bytes();
      break;
    case 19:
      metadata.deliverAtMs = saturated(reader.int64());
      break;
    case 20:
      metadata.markerType = reader.int32();
      break;
    case 22:
      metadata.transactionLeastBits = reader.uint64();
      break;
    case 23:
      metadata.transactionMostBits = reader.uint64();
      break;
    case 24:
      metadata.highestSequenceId = reader.uint64();
      break;
    case 25:
      metadata.isNullValue = reader.bool();
      break;
    default:
      readChunkField(metadata, reader);
  }
}

function readChunkField(metadata: MessageMetadata, reader: WireReader): void {
  switch (reader.field) {
    case 26:
      metadata.uuid = reader.string();
      break;
    case 27:
      metadata.chunksCount = reader.int32();
      break;
    case 28:
      metadata.totalChunkBytes = reader.int32();
      break;
    case 29:
      metadata.chunkId = reader.int32();
      break;
    case 30:
      metadata.isNullPartitionKey = reader.bool();
      break;
    case 31:
      reader.repeated((one) => metadata.compactedBatchIndexes.push(one.int32()));
      break;
    case 32:
      metadata.schemaId = reader.bytes();
      break;
    default:
      reader.skip();
  }
}

function saturated(value: bigint): number {
  const number = Number(value);
  return Math.min(Math.max(number, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

function compressionOf(number: number): Compression {
  for (const name of Object.keys(compressionNumbers) as Compression[]) if (compressionNumbers[name] === number) return name;
  throw new Malformed(`compression ${number} is unknown`);
}

export function readKeyValue(reader: WireReader): KeyValue {
  let key = '';
  let value = '';
  while (reader.next()) {
    if (reader.field === 1) key = reader.string();
    else if (reader.field === 2) value = reader.string();
    else reader.skip();
  }
  return { key, value };
}

function readEncryptionKey(reader: WireReader): EncryptionKey {
  let key = '';
  let value = new Uint8Array(0);
  const metadata: KeyValue[] = [];
  while (reader.next()) {
    if (reader.field === 1) key = reader.string();
    else if (reader.field === 2) value = reader.bytes() as Uint8Array<ArrayBuffer>;
    else if (reader.field === 3) metadata.push(readKeyValue(reader.message()));
    else reader.skip();
  }
  return { key, value, metadata };
}

/** Every field that is set, in the order of numbers, as Pulsar writes them. The fast way for a producer's own messages is MessageEncoder. */
export function writeMessageMetadata(metadata: MessageMetadata): WireWriter {
  const writer = new WireWriter().string(1, metadata.producerName).int(2, metadata.sequenceId).int(3, metadata.publishTimeMs);
  writeKeyValues(writer, 4, metadata.properties);
  if (metadata.replicatedFrom !== undefined) writer.string(5, metadata.replicatedFrom);
  if (metadata.partitionKey !== undefined) writer.string(6, metadata.partitionKey);
  for (const cluster of metadata.replicateTo) writer.string(7, cluster);
  if (metadata.compression !== undefined) writer.int(8, compressionNumbers[metadata.compression]);
  if (metadata.uncompressedBytes !== undefined) writer.int(9, metadata.uncompressedBytes);
  if (metadata.messagesInBatch !== undefined) writer.int(11, metadata.messagesInBatch);
  if (metadata.eventTimeMs !== undefined) writer.int(12, metadata.eventTimeMs);
  writeEncryption(writer, metadata);
  if (metadata.schemaVersion !== undefined) writer.bytes(16, metadata.schemaVersion);
  if (metadata.isPartitionKeyBase64 !== undefined) writer.bool(17, metadata.isPartitionKeyBase64);
  if (metadata.orderingKey !== undefined) writer.bytes(18, metadata.orderingKey);
  if (metadata.deliverAtMs !== undefined) writer.int(19, metadata.deliverAtMs);
  if (metadata.markerType !== undefined) writer.int(20, metadata.markerType);
  if (metadata.transactionLeastBits !== undefined) writer.int(22, metadata.transactionLeastBits);
  if (metadata.transactionMostBits !== undefined) writer.int(23, metadata.transactionMostBits);
  if (metadata.highestSequenceId !== undefined) writer.int(24, metadata.highestSequenceId);
  if (metadata.isNullValue !== undefined) writer.bool(25, metadata.isNullValue);
  writeChunk(writer, metadata);
  if (metadata.isNullPartitionKey !== undefined) writer.bool(30, metadata.isNullPartitionKey);
  for (const index of metadata.compactedBatchIndexes) writer.int(31, index);
  if (metadata.schemaId !== undefined) writer.bytes(32, metadata.schemaId);
  return writer;
}

function writeEncryption(writer: WireWriter, metadata: MessageMetadata): void {
  for (const { key, value, metadata: properties } of metadata.encryptionKeys) {
    const body = new WireWriter().string(1, key).bytes(2, value);
    writeKeyValues(body, 3, properties);
    writer.message(13, body);
  }
  if (metadata.encryptionAlgorithm !== undefined) writer.string(14, metadata.encryptionAlgorithm);
  if (metadata.encryptionParameter !== undefined) writer.bytes(15, metadata.encryptionParameter);
}

function writeChunk(writer: WireWriter, metadata: MessageMetadata): void {
  if (metadata.uuid !== undefined) writer.string(26, metadata.uuid);
  if (metadata.chunksCount !== undefined) writer.int(27, metadata.chunksCount);
  if (metadata.totalChunkBytes !== undefined) writer.int(28, metadata.totalChunkBytes);
  if (metadata.chunkId !== undefined) writer.int(29, metadata.chunkId);
}

export function writeKeyValues(writer: WireWriter, field: number, pairs: readonly KeyValue[]): void {
  for (const { key, value } of pairs) writer.message(field, new WireWriter(32).string(1, key).string(2, value));
}
