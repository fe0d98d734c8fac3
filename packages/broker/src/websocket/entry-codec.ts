import { decodeMessage, encodeMessage, type MessageEncoder, type OutgoingMessage, protoErrors } from '@daybook/proto';
import type { PublishRequest } from './publish-request.js';

/** Between base64 in frames and Pulsar's message bytes in entries. */

const scratchBytesKept = 256 * 1024;
let scratch = Buffer.allocUnsafe(64 * 1024);

/**
 * The payload's bytes, or undefined when the text is not base64 after all. The view is good until the next call.
 */
export function decodePayload(request: PublishRequest): Uint8Array | undefined {
  const { base64, payloadBytes } = request;
  if (payloadBytes < 0) return undefined;
  if (payloadBytes > scratch.length) scratch = Buffer.allocUnsafe(payloadBytes);
  else if (scratch.length > scratchBytesKept && payloadBytes <= scratchBytesKept) scratch = Buffer.allocUnsafe(scratchBytesKept);
  // Node passes over characters outside the alphabet: then fewer bytes come out than the length promises.
  const written = scratch.write(base64, 0, payloadBytes, 'base64');
  return written === payloadBytes ? scratch.subarray(0, payloadBytes) : undefined;
}

/** The entry for one message of a producer. */
export function encodeEntry(
  encoder: MessageEncoder,
  producerName: string,
  request: PublishRequest,
  payload: Uint8Array,
  sequenceId: bigint,
  publishTimeMs: number,
): Buffer {
  const message: OutgoingMessage = request.isPlain
    ? { sequenceId, publishTimeMs, payload }
    : {
        sequenceId,
        publishTimeMs,
        payload,
        properties: request.properties.length === 0 ? undefined : recordOf(request.properties),
        key: request.key,
        eventTimeMs: request.eventTimeMs === 0 ? undefined : request.eventTimeMs,
        deliverAtMs: request.deliverAtMs,
        replicateTo: request.replicateTo.length === 0 ? undefined : request.replicateTo,
      };
  return (message.eventTimeMs ?? 0) < 0 ? encodeSlowly(producerName, message) : encoder.encode(message);
}

/** Times before 1970 are stored as 64-bit two's complement, as Pulsar does: rare, so left to the general encoder. */
function encodeSlowly(producerName: string, message: OutgoingMessage): Buffer {
  const { key, eventTimeMs, deliverAtMs } = message;
  return encodeMessage({
    payload: message.payload,
    metadata: {
      producerName,
      sequenceId: BigInt(message.sequenceId),
      publishTimeMs: message.publishTimeMs,
      properties: Object.entries(message.properties ?? {}).map(([name, value]) => ({ key: name, value })),
      replicateTo: [...(message.replicateTo ?? [])],
      encryptionKeys: [],
      compactedBatchIndexes: [],
      uncompressedBytes: message.payload.length,
      ...(key === undefined ? {} : { partitionKey: key, isPartitionKeyBase64: false }),
      ...(eventTimeMs === undefined ? {} : { eventTimeMs }),
      ...(deliverAtMs === undefined ? {} : { deliverAtMs }),
    },
  });
}

/** Without a prototype, so that any name is just a name. */
function recordOf(properties: readonly (readonly [string, string])[]): Record<string, string> {
  const record: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of properties) record[name] = value;
  return record;
}

export interface DecodedEntry {
  /** Where the payload begins in the entry. */
  payloadOffset: number;
  publishTimeMs: number;
  /** 0: none. */
  eventTimeMs: number;
  key: string | undefined;
  properties: readonly { readonly key: string; readonly value: string }[];
}

/** Undefined for bytes that are no message. */
export function decodeEntry(entry: Buffer): DecodedEntry | undefined {
  try {
    const { metadata, payload } = decodeMessage(entry);
    return {
      payloadOffset: entry.length - payload.length,
      publishTimeMs: metadata.publishTimeMs,
      eventTimeMs: signedTimeMs(metadata.eventTimeMs, entry.length - payload.length, entry),
      key: metadata.partitionKey,
      properties: metadata.properties,
    };
  } catch (error) {
    if (protoErrors.MESSAGE_MALFORMED.is(error)) return undefined;
    throw error;
  }
}

const headBytes = 10;
const eventTimeField = 12;

/**
 * The general decoder reads times as unsigned and shows what is beyond 2^53 as 2^53-1, which every time before 1970 is. Such rare ones are looked up again:
 * entries of this broker's own producers have a head of ten bytes and then the metadata.
 */
function signedTimeMs(timeMs: number | undefined, metadataEnd: number, entry: Buffer): number {
  if (timeMs !== Number.MAX_SAFE_INTEGER) return timeMs ?? 0;
  let at = headBytes;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; at < metadataEnd; shift += 7n) {
      const byte = entry[at++] as number;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return BigInt.asIntN(64, value);
  };
  while (at < metadataEnd) {
    const tag = Number(varint());
    const value = (tag & 7) === 5 || (tag & 7) === 1 ? 0n : varint();
    if (tag >> 3 === eventTimeField) return Number(value);
    at += (tag & 7) === 2 ? Number(value) : (tag & 7) === 5 ? 4 : (tag & 7) === 1 ? 8 : 0;
  }
  return timeMs;
}
