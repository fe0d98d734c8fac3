import { varintBytes, writeVarint } from '../wire/writer.js';
import { type Compression, compressionNumbers } from './metadata.js';
import { finishMessage } from './payload.js';

/** What a producer says about one message. Everything but the first three may be left out. */
export interface OutgoingMessage {
  /** As a u64: -5n is 2^64-5. */
  readonly sequenceId: number | bigint;
  readonly publishTimeMs: number;
  readonly payload: Uint8Array;
  readonly properties?: Readonly<Record<string, string>> | undefined;
  /** Text; see also `isKeyBase64`. */
  readonly key?: string | undefined;
  readonly isKeyBase64?: boolean | undefined;
  readonly eventTimeMs?: number | undefined;
  readonly deliverAtMs?: number | undefined;
  readonly replicateTo?: readonly string[] | undefined;
  readonly schemaVersion?: Uint8Array | undefined;
  /** Then `payload` is compressed and this says how many bytes it had before. */
  readonly compression?: Compression | undefined;
  readonly uncompressedBytes?: number | undefined;
}

/** Magic, checksum and size of the metadata. */
const headBytes = 10;
/** Sequence id and publish time. */
const requiredBytesMax = 22;
/** Compression, uncompressed size, event time, deliver-at time. */
const numbersBytesMax = 40;
/** A text of that length, if it is ASCII, has a size of one byte. */
const shortTextMax = 60;
/** Larger messages are not worth keeping a buffer of their size. */
const sharedBytesMax = 256 * 1024;

/** Where the encoders of all producers write what is copied at once. */
let shared = Buffer.allocUnsafe(0);

/** Encodes the messages of one producer into entry payloads (payload.ts), byte for byte as Pulsar's WebSocket producer does. The payload is copied once. */
export class MessageEncoder {
  readonly #producerName: string;

  constructor(producerName: string) {
    this.#producerName = producerName;
  }

  /** A buffer of its own. */
  encode(message: OutgoingMessage): Buffer {
    return this.#write(Buffer.allocUnsafe(this.#bytesMax(message)), message);
  }

  /** A view that is overwritten by the next call to any encoder: for whoever copies it at once, as `TopicProducer.publish` does. Nothing is allocated but the view. */
  encodeShared(message: OutgoingMessage): Buffer {
    const bytesMax = this.#bytesMax(message);
    if (bytesMax > sharedBytesMax) return this.encode(message);
    if (bytesMax > shared.length) shared = Buffer.allocUnsafe(Math.max(bytesMax, 2 * shared.length));
    return this.#write(shared, message);
  }

  #bytesMax(message: OutgoingMessage): number {
    return headBytes + 8 + 3 * this.#producerName.length + requiredBytesMax + optionalBytesMax(message) + message.payload.length;
  }

  #write(target: Buffer, message: OutgoingMessage): Buffer {
    let end = writeText(target, headBytes, 0x0a, this.#producerName);
    target[end++] = 0x10;
    end = writeInt(target, end, message.sequenceId);
    target[end++] = 0x18;
    end = writeInt(target, end, message.publishTimeMs);
    end = writeOptional(target, end, message);
    target.set(message.payload, end);
    const out = target.subarray(0, end + message.payload.length);
    finishMessage(out, 0, end - headBytes);
    return out;
  }
}

/** An upper bound of what {@link writeOptional} writes. */
function optionalBytesMax(message: OutgoingMessage): number {
  let bytes = numbersBytesMax;
  for (const key in message.properties) bytes += 24 + 3 * (key.length + (message.properties[key] as string).length);
  if (message.key !== undefined) bytes += 12 + 3 * message.key.length;
  if (message.replicateTo !== undefined) for (const cluster of message.replicateTo) bytes += 8 + 3 * cluster.length;
  if (message.schemaVersion !== undefined) bytes += 8 + message.schemaVersion.length;
  return bytes;
}

function writeUncompressedSize(target: Buffer, offset: number, bytes: number): number {
  target[offset] = 0x48;
  return writeVarint(target, offset + 1, bytes);
}

function writeOptional(target: Buffer, offset: number, message: OutgoingMessage): number {
  let end = offset;
  for (const key in message.properties) end = writeProperty(target, end, key, message.properties[key] as string);
  if (message.key !== undefined) end = writeText(target, end, 0x32, message.key);
  if (message.replicateTo !== undefined) for (const cluster of message.replicateTo) end = writeText(target, end, 0x3a, cluster);
  if (message.compression !== undefined && message.compression !== 'NONE') {
    target[end++] = 0x40;
    target[end++] = compressionNumbers[message.compression];
  }
  end = writeUncompressedSize(target, end, message.uncompressedBytes ?? message.payload.length);
  if (message.eventTimeMs !== undefined) {
    target[end++] = 0x60;
    end = writeInt(target, end, message.eventTimeMs);
  }
  if (message.schemaVersion !== undefined) {
    target[end++] = 0x82;
    target[end++] = 0x01;
    end = writeVarint(target, end, message.schemaVersion.length);
    target.set(message.schemaVersion, end);
    end += message.schemaVersion.length;
  }
  if (message.key !== undefined) {
    target[end++] = 0x88;
    target[end++] = 0x01;
    target[end++] = message.isKeyBase64 === true ? 1 : 0;
  }
  if (message.deliverAtMs !== undefined) {
    target[end++] = 0x98;
    target[end++] = 0x01;
    end = writeInt(target, end, message.deliverAtMs);
  }
  return end;
}

/** Short ASCII, the usual case, is written without leaving JavaScript: a call to Buffer costs more than such a text. */
function writeText(target: Buffer, offset: number, tag: number, text: string): number {
  target[offset] = tag;
  const { length } = text;
  if (length > shortTextMax) return writeLongText(target, offset + 1, text);
  target[offset + 1] = length;
  let end = offset + 2;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) return writeLongText(target, offset + 1, text);
    target[end++] = code;
  }
  return end;
}

function writeLongText(target: Buffer, offset: number, text: string): number {
  const bytes = Buffer.byteLength(text);
  const start = writeVarint(target, offset, bytes);
  return start + target.write(text, start, bytes, 'utf8');
}

/** The size goes in front of key and value but is known after them: one byte is left for it, and made more when that is not enough. */
function writeProperty(target: Buffer, offset: number, key: string, value: string): number {
  target[offset] = 0x22;
  const start = offset + 2;
  const end = writeText(target, writeText(target, start, 0x0a, key), 0x12, value);
  const bytes = end - start;
  const more = varintBytes(bytes) - 1;
  if (more > 0) target.copyWithin(start + more, start, end);
  writeVarint(target, offset + 1, bytes);
  return end + more;
}

/** Negative numbers take ten bytes. */
function writeInt(target: Buffer, offset: number, value: number | bigint): number {
  if (typeof value === 'number' && value >= 0) return writeVarint(target, offset, value);
  let rest = BigInt.asUintN(64, BigInt(value));
  let end = offset;
  while (rest > 0x7fn) {
    target[end++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  target[end++] = Number(rest);
  return end;
}
