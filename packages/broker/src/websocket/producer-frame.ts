import { parseOffsetTime } from './iso-time.js';
import { JsonSyntaxError, type LiteralJson, NumberText, parseLiteralJson } from './literal-json.js';
import type { PublishRefusal, PublishRequest } from './publish-request.js';
import { base64Fault, decodedBytes, paddingOf } from './strict-base64.js';

/**
 * Reads a producer's frame into `request`, or says why it is refused. Canonical frames (`{"payload":"...","context":"..."}`, what clients send by the
 * thousand) are read by a byte scan; everything else, and every doubt, goes through {@link readProducerFrameStrictly}. Both agree (tested).
 */
export function readProducerFrame(frame: Buffer, nowMs: number, request: PublishRequest): PublishRefusal | undefined {
  return scanCanonicalFrame(frame, request) ? undefined : readProducerFrameStrictly(frame, nowMs, request);
}

const quote = 0x22;
const head = Buffer.from('{"payload":"');
const middle = Buffer.from('","context":"');

/** True when the frame is canonical up to the base64 alphabet, which shows when it is decoded (entry-codec.ts). */
export function scanCanonicalFrame(frame: Buffer, request: PublishRequest): boolean {
  if (!startsWith(frame, head, 0)) return false;
  const end = frame.indexOf(quote, head.length);
  if (end < 0) return false;
  const length = unpaddedLength(frame, head.length, end);
  const bytes = decodedBytes(length);
  if (bytes < 0) return false;
  let context: string | undefined;
  if (frame.length === end + 2 && frame[end + 1] === 0x7d) context = undefined;
  else {
    if (!startsWith(frame, middle, end)) return false;
    const from = end + middle.length;
    const to = frame.length - 2;
    if (to < from || frame[to] !== quote || frame[to + 1] !== 0x7d || !isPlainAscii(frame, from, to)) return false;
    context = frame.toString('latin1', from, to);
  }
  const dash = frame.indexOf(0x2d, head.length);
  if (dash >= 0 && dash < end) return false;
  const underscore = frame.indexOf(0x5f, head.length);
  if (underscore >= 0 && underscore < end) return false;
  request.clear();
  request.context = context;
  request.base64 = frame.toString('latin1', head.length, head.length + length);
  request.payloadBytes = bytes;
  return true;
}

/** Length of the base64 between two positions without its padding; -1 (which no text has) when the padding is not right. */
function unpaddedLength(frame: Buffer, from: number, to: number): number {
  if (to === from || frame[to - 1] !== 0x3d) return to - from;
  if (((to - from) & 3) !== 0) return 1;
  return frame[to - 2] === 0x3d ? to - from - 2 : to - from - 1;
}

function startsWith(frame: Buffer, part: Buffer, at: number): boolean {
  if (frame.length < at + part.length) return false;
  for (let i = 0; i < part.length; i++) if (frame[at + i] !== part[i]) return false;
  return true;
}

/** No quote, backslash, control character or byte beyond ASCII: the JSON text is the text itself. */
function isPlainAscii(frame: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const byte = frame[i] as number;
    if (byte < 0x20 || byte > 0x7e || byte === quote || byte === 0x5c) return false;
  }
  return true;
}

/** Thrown inside the strict reader; never leaves it. */
class Refused extends Error {
  readonly refusal: PublishRefusal;
  constructor(code: 3 | 7 | 8, text: string, context: string | undefined) {
    super(text);
    this.refusal = { code, text, context };
  }
}

export function readProducerFrameStrictly(frame: Buffer, nowMs: number, request: PublishRequest): PublishRefusal | undefined {
  request.clear();
  try {
    fill(parseMembers(frame.toString('utf8')), nowMs, request);
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    if (error instanceof JsonSyntaxError) return { code: 3, text: `Failed to de-serialize from JSON: ${error.message}`, context: undefined };
    throw error;
  }
}

function parseMembers(text: string): Map<string, LiteralJson> {
  const value = parseLiteralJson(text);
  if (!(value instanceof Map)) throw new JsonSyntaxError(`a message is a JSON object, not ${kindOf(value)}`);
  return value;
}

/** First everything that is of the wrong type (3, without a context, as Pulsar's parser fails before it knows one), then what has a wrong value (7). */
function fill(members: Map<string, LiteralJson>, nowMs: number, request: PublishRequest): void {
  const context = scalarText(members, 'context');
  const payload = scalar(members, 'payload');
  const properties = propertiesOf(members.get('properties'));
  request.key = scalarText(members, 'key');
  request.replicateTo = replicateToOf(members.get('replicationClusters'));
  const eventTime = scalarText(members, 'eventTime');
  const deliverAtMs = long(members, 'deliverAt') ?? 0n;
  const deliverAfterMs = long(members, 'deliverAfterMs') ?? 0n;
  for (const name of ['sequenceId', 'schemaVersion', 'uncompressedMessageSize']) long(members, name);
  for (const name of ['keySchema', 'valueSchema', 'encryptionParam', 'compressionType']) scalarText(members, name);
  bool(members, 'disableReplication');

  request.context = context;
  fillPayload(payload, request);
  for (const [name, value] of properties) {
    if (value === null) throw new Refused(7, `The property ${JSON.stringify(name)} has no value: null is not allowed`, context);
  }
  request.properties = properties as [string, string][];
  if (eventTime !== undefined) {
    const eventTimeMs = parseOffsetTime(eventTime);
    if (eventTimeMs === undefined)
      throw new Refused(7, `Text '${eventTime}' is not a time with an offset, such as 2026-01-31T12:00:00.5+02:00`, context);
    request.eventTimeMs = eventTimeMs;
  }
  const dueMs = deliverAfterMs > 0n ? BigInt.asIntN(64, BigInt(nowMs) + deliverAfterMs) : deliverAtMs;
  if (dueMs > BigInt(nowMs))
    throw new Refused(8, 'Delayed delivery (deliverAt, deliverAfterMs) is not supported by this version of Daybook', context);
  if (deliverAfterMs > 0n || deliverAtMs > 0n) request.deliverAtMs = Number(dueMs);
  request.isPlain = false;
}

function fillPayload(payload: LiteralJson | undefined, request: PublishRequest): void {
  const { context } = request;
  if (payload === undefined || payload === null) throw new Refused(7, 'The payload is missing: it is a base64 text, "" for an empty one', context);
  if (typeof payload !== 'string') throw new Refused(7, `Invalid Base64 message-payload error=a text was expected, not ${kindOf(payload)}`, context);
  const fault = base64Fault(payload);
  if (fault !== undefined) throw new Refused(7, `Invalid Base64 message-payload error=${fault}`, context);
  request.base64 = payload.slice(0, payload.length - paddingOf(payload));
  request.payloadBytes = decodedBytes(request.base64.length);
}

function wrongType(name: string, wanted: string, value: LiteralJson): JsonSyntaxError {
  return new JsonSyntaxError(`"${name}" is ${wanted}, not ${kindOf(value)}`);
}

function kindOf(value: LiteralJson): string {
  if (value === null) return 'null';
  if (value instanceof Map) return 'an object';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof NumberText) return `the number ${value.text.slice(0, 30)}`;
  return typeof value === 'string' ? 'a text' : String(value);
}

function scalar(members: Map<string, LiteralJson>, name: string): LiteralJson | undefined {
  const value = members.get(name);
  if (value instanceof Map || Array.isArray(value)) throw wrongType(name, 'a text', value);
  return value;
}

/** Numbers and booleans count as the text they were spelt with; null is none. */
function scalarText(members: Map<string, LiteralJson>, name: string): string | undefined {
  return textOf(scalar(members, name) ?? null, name) ?? undefined;
}

function textOf(value: LiteralJson, name: string): string | null {
  if (value === null || typeof value === 'string') return value;
  if (value instanceof NumberText) return value.text;
  if (typeof value === 'boolean') return String(value);
  throw wrongType(name, 'a text', value);
}

function propertiesOf(value: LiteralJson | undefined): [string, string | null][] {
  if (value === undefined || value === null) return [];
  if (!(value instanceof Map)) throw wrongType('properties', 'an object of texts', value);
  return Array.from(value, ([name, item]) => [name, textOf(item, `properties.${name}`)]);
}

function replicateToOf(value: LiteralJson | undefined): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrongType('replicationClusters', 'an array of texts', value);
  return value.map((item) => textOf(item, 'replicationClusters') ?? 'null');
}

const integer = /^\s*[+-]?\d{1,30}\s*$/;

/** A 64-bit number, also as a text; a fraction is cut off, null is 0. */
function long(members: Map<string, LiteralJson>, name: string): bigint | undefined {
  const value = members.get(name);
  if (value === undefined || value === null) return undefined;
  const wrong = wrongType(name, 'a whole number', value);
  let number: bigint;
  if (value instanceof NumberText) number = integer.test(value.text) ? BigInt(value.text) : truncated(Number(value.text), wrong);
  else if (typeof value === 'string' && integer.test(value)) number = BigInt(value.trim().replace(/^\+/, ''));
  else if (value === '') return undefined;
  else throw wrong;
  if (BigInt.asIntN(64, number) !== number) throw new JsonSyntaxError(`"${name}" is beyond 64 bits`);
  return number;
}

function truncated(value: number, wrong: Error): bigint {
  if (!Number.isFinite(value) || Math.abs(value) > 2 ** 63) throw wrong;
  return BigInt(Math.trunc(value));
}

function bool(members: Map<string, LiteralJson>, name: string): void {
  const value = members.get(name);
  const isBool = value === undefined || value === null || typeof value === 'boolean' || value instanceof NumberText;
  if (!isBool && !(typeof value === 'string' && /^(true|false|True|False|TRUE|FALSE|)$/.test(value))) throw wrongType(name, 'a boolean', value);
}
