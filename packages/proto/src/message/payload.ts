import { crc32c } from '@daybook/runtime';
import { decoding, Malformed, protoErrors } from '../errors.js';
import { readUint32, writeUint32 } from '../wire/int64.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';
import { type MessageMetadata, readMessageMetadata, writeMessageMetadata } from './metadata.js';

/**
 * A message as it is stored: the payload of an entry. The bytes are Pulsar's, from the magic of its SEND frame to the end, and pass through unchanged.
 *
 * | size | field |
 * |---|---|
 * | 2 + 4 + n | optional: 0x0e02, size, BrokerEntryMetadata (1 broker_timestamp u64, 2 index u64) |
 * | 2 + 4 | optional when read, always written: 0x0e01, CRC-32C of everything after it |
 * | 4 | size of the metadata |
 * | n | MessageMetadata (metadata.ts) |
 * | rest | payload: the body as sent (maybe compressed, encrypted), or a batch (batch.ts) |
 */
export interface StoredMessage {
  readonly brokerEntry: BrokerEntryMetadata | undefined;
  readonly metadata: MessageMetadata;
  /** A view into the entry's payload. */
  readonly payload: Buffer;
}

export interface BrokerEntryMetadata {
  readonly brokerTimestampMs: number | undefined;
  readonly index: bigint | undefined;
}

export const brokerEntryMagic = 0x0e02;
export const checksumMagic = 0x0e01;

/** Throws `PROTO_MESSAGE_MALFORMED`. The checksum is not looked at: it was when the message came in, and the entry's digest covers it since. */
export function decodeMessage(entryPayload: Buffer): StoredMessage {
  return decoding(protoErrors.MESSAGE_MALFORMED, () => {
    const brokerEntryEnd = endOfBrokerEntry(entryPayload);
    const sizeOffset = hasChecksum(entryPayload, brokerEntryEnd) ? brokerEntryEnd + 6 : brokerEntryEnd;
    const metadataStart = sizeOffset + 4;
    if (metadataStart > entryPayload.length) throw new Malformed('it is cut off');
    const metadataEnd = metadataStart + readUint32(entryPayload, sizeOffset);
    if (metadataEnd > entryPayload.length) throw new Malformed('it is cut off');
    return {
      brokerEntry: brokerEntryEnd === 0 ? undefined : readBrokerEntry(entryPayload, brokerEntryEnd),
      metadata: readMessageMetadata(entryPayload, metadataStart, metadataEnd),
      payload: entryPayload.subarray(metadataEnd),
    };
  });
}

/** For messages that come in from outside. Without a checksum there is nothing to check. Throws `PROTO_MESSAGE_CHECKSUM_MISMATCH`, `PROTO_MESSAGE_MALFORMED`. */
export function verifyMessageChecksum(entryPayload: Buffer): void {
  const offset = decoding(protoErrors.MESSAGE_MALFORMED, () => endOfBrokerEntry(entryPayload));
  if (!hasChecksum(entryPayload, offset)) return;
  if (readUint32(entryPayload, offset + 2) !== crc32c(entryPayload.subarray(offset + 6))) throw protoErrors.MESSAGE_CHECKSUM_MISMATCH();
}

/** What of a stored message goes to clients that do not know broker entry metadata. */
export function withoutBrokerEntry(entryPayload: Buffer): Buffer {
  return entryPayload.subarray(decoding(protoErrors.MESSAGE_MALFORMED, () => endOfBrokerEntry(entryPayload)));
}

function hasMagic(bytes: Uint8Array, offset: number, magic: number): boolean {
  return bytes.length >= offset + 6 && bytes[offset] === magic >> 8 && bytes[offset + 1] === (magic & 0xff);
}

function hasChecksum(bytes: Uint8Array, offset: number): boolean {
  return hasMagic(bytes, offset, checksumMagic);
}

function endOfBrokerEntry(bytes: Uint8Array): number {
  if (!hasMagic(bytes, 0, brokerEntryMagic)) return 0;
  const end = 6 + readUint32(bytes, 2);
  if (end > bytes.length) throw new Malformed('its broker entry metadata is cut off');
  return end;
}

function readBrokerEntry(bytes: Uint8Array, end: number): BrokerEntryMetadata {
  const reader = new WireReader(bytes, 6, end);
  let brokerTimestampMs: number | undefined;
  let index: bigint | undefined;
  while (reader.next()) {
    if (reader.field === 1) brokerTimestampMs = reader.uintSaturated();
    else if (reader.field === 2) index = reader.uint64();
    else reader.skip();
  }
  return { brokerTimestampMs, index };
}

/** Any message with its checksum. For a producer's own messages MessageEncoder is faster. */
export function encodeMessage(message: { metadata: MessageMetadata; payload: Uint8Array; brokerEntry?: BrokerEntryMetadata | undefined }): Buffer {
  const metadata = writeMessageMetadata(message.metadata).finish();
  const brokerEntry = message.brokerEntry === undefined ? undefined : encodeBrokerEntry(message.brokerEntry);
  const start = brokerEntry?.length ?? 0;
  const out = Buffer.allocUnsafe(start + 10 + metadata.length + message.payload.length);
  if (brokerEntry !== undefined) out.set(brokerEntry);
  out.set(metadata, start + 10);
  out.set(message.payload, start + 10 + metadata.length);
  finishMessage(out, start, metadata.length);
  return out;
}

/** Writes magic, checksum and size in front of what is already in place from `start` + 10 on. */
export function finishMessage(target: Buffer, start: number, metadataBytes: number): void {
  target[start] = checksumMagic >> 8;
  target[start + 1] = checksumMagic & 0xff;
  writeUint32(target, start + 6, metadataBytes);
  writeUint32(target, start + 2, crc32c(target.subarray(start + 6)));
}

function encodeBrokerEntry({ brokerTimestampMs, index }: BrokerEntryMetadata): Buffer {
  const body = new WireWriter();
  if (brokerTimestampMs !== undefined) body.int(1, brokerTimestampMs);
  if (index !== undefined) body.int(2, index);
  const head = Buffer.alloc(6);
  head.writeUInt16BE(brokerEntryMagic, 0);
  head.writeUInt32BE(body.length, 2);
  return Buffer.concat([head, body.finish()]);
}
