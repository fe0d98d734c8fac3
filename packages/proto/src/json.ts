import { protoErrors } from './errors.js';
import { endOfString, parseBigJson } from './json-parser.js';

/**
 * JSON without loss: integers beyond 2^53 are bigint, and bigint is printed as a number. With limits, so that no text can exhaust the stack or the memory
 * of whoever walks through the result. Runs in browsers.
 */
export interface JsonLimits {
  readonly depthMax: number;
  readonly lengthMax: number;
}

export const jsonLimitsDefault: JsonLimits = { depthMax: 64, lengthMax: 16 * 1024 * 1024 };

/** Throws `PROTO_JSON_MALFORMED`, `PROTO_JSON_TOO_DEEP`, `PROTO_JSON_TOO_LONG`. */
export function parseJson(text: string, limits: JsonLimits = jsonLimitsDefault): unknown {
  if (text.length > limits.lengthMax) throw protoErrors.JSON_TOO_LONG(text.length, limits.lengthMax);
  if (isTooDeep(text, limits.depthMax)) throw protoErrors.JSON_TOO_DEEP(limits.depthMax);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw protoErrors.JSON_MALFORMED(error instanceof Error ? error.message : String(error), { cause: error });
  }
  // Only numbers that lost digits on the way are worth the slower parser.
  return hasUnsafeNumber(value) ? parseBigJson(text) : value;
}

/** Looking for brackets with indexOf costs next to nothing on the usual text, a few brackets and a long string. Only many brackets need the exact count. */
function isTooDeep(text: string, depthMax: number): boolean {
  let openers = 0;
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++openers > depthMax) return depthOf(text, depthMax) > depthMax;
    }
  }
  return false;
}

/** The deepest nesting outside strings, counted no further than just beyond `depthMax`. */
function depthOf(text: string, depthMax: number): number {
  let depth = 0;
  let deepest = 0;
  for (let i = 0; i < text.length && deepest <= depthMax; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) i = endOfString(text, i);
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x7d || code === 0x5d) depth--;
  }
  return deepest;
}

function hasUnsafeNumber(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasUnsafeNumber);
  for (const key in value) if (hasUnsafeNumber((value as Record<string, unknown>)[key])) return true;
  return false;
}

/** As JSON.stringify, with bigint as a number literal. */
export function stringifyJson(value: unknown): string {
  if (!hasBigint(value)) return JSON.stringify(value) ?? 'null';
  return printed(value) ?? 'null';
}

function hasBigint(value: unknown): boolean {
  if (typeof value === 'bigint') return true;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(hasBigint);
  for (const key in value) if (hasBigint((value as Record<string, unknown>)[key])) return true;
  return false;
}

/** Undefined for what JSON.stringify leaves out. */
function printed(value: unknown): string | undefined {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || ('toJSON' in value && typeof value.toJSON === 'function')) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => printed(item) ?? 'null').join(',')}]`;
  const fields: string[] = [];
  for (const [key, item] of Object.entries(value)) {
    const text = printed(item);
    if (text !== undefined) fields.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${fields.join(',')}}`;
}
