import { JsonSyntaxError, type LiteralJson, NumberText, parseLiteralJson } from '../websocket/literal-json.js';
import { Refused, Unreadable } from './answer.js';

/** Integers beyond 2^53 are bigints. */
export type JsonValue = string | number | bigint | boolean | null | JsonValue[] | { [name: string]: JsonValue };

/** `application/json` and its relatives (`application/vnd.partitioned-topic-metadata+json`), with or without parameters. */
const jsonType = /^application\/(?:[\w.!#$&^-]+\+)?json\s*(?:;|$)/i;

/** Undefined for an empty body. */
export function parseJsonBody(contentType: string | undefined, body: Buffer): JsonValue | undefined {
  const text = body.toString('utf8');
  if (text.trim() === '') return undefined;
  if (contentType !== undefined && !jsonType.test(contentType.trim())) {
    throw new Refused(415, `Content-Type ${contentType.slice(0, 80)} is not taken here: send application/json`);
  }
  try {
    return plain(parseLiteralJson(text));
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new Unreadable(`The body is not valid JSON: ${error.message}`);
    throw error;
  }
}

function plain(value: LiteralJson): JsonValue {
  if (value instanceof NumberText) return numberOf(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  const members: { [name: string]: JsonValue } = Object.create(null) as { [name: string]: JsonValue };
  for (const [name, item] of value) members[name] = plain(item);
  return members;
}

function numberOf(text: string): number | bigint {
  const number = Number(text);
  if (Number.isSafeInteger(number) || !/^-?\d+$/.test(text)) return number;
  if (text.length > 40) throw new JsonSyntaxError('a number is too long');
  return BigInt(text);
}

export function isJsonObject(value: JsonValue | undefined): value is { [name: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
