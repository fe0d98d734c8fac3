import { Malformed } from '../errors.js';

/**
 * Protobuf's text format, the part BookKeeper's records use: `name: value` lines, `name {` blocks, quoted strings with C escapes, `#` comments.
 */
export interface TextField {
  readonly name: string;
  /** A bare word or number, or the bytes of a quoted string; a block's fields. */
  readonly value: string | Uint8Array | readonly TextField[];
}

const depthMax = 8;

export function parseTextFormat(text: string): TextField[] {
  return new TextParser(text).fields(0);
}

const tokenPattern = /[\s,;]*(?:#[^\n]*(?:\n[\s,;]*|$))*([A-Za-z_][\w.]*|[-+]?[\w.]+|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[:{}<>]|$)/y;

class TextParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Fields up to the end of the text (depth 0) or of the block. */
  fields(depth: number): TextField[] {
    if (depth > depthMax) throw new Malformed('blocks are nested too deep');
    const out: TextField[] = [];
    for (;;) {
      const name = this.#next();
      if (name === '' ? depth === 0 : depth > 0 && (name === '}' || name === '>')) return out;
      if (!/^[A-Za-z_]/.test(name)) throw new Malformed(name === '' ? 'a block does not end' : `"${name}" is no field name`);
      out.push({ name, value: this.#value(depth) });
    }
  }

  #value(depth: number): TextField['value'] {
    let token = this.#next();
    if (token === '{' || token === '<') return this.fields(depth + 1);
    if (token !== ':') throw new Malformed(`"${token}" where a colon should be`);
    token = this.#next();
    if (token === '{' || token === '<') return this.fields(depth + 1);
    if (token.startsWith('"') || token.startsWith("'")) return this.#strings(token);
    if (!/^[-+\w]/.test(token)) throw new Malformed('a value is missing');
    return token;
  }

  /** Adjacent strings are one. */
  #strings(first: string): Uint8Array {
    const parts = [bytesOfQuoted(first.slice(1, -1))];
    for (;;) {
      const before = this.#at;
      const token = this.#next();
      if (!token.startsWith('"') && !token.startsWith("'")) {
        this.#at = before;
        return parts.length === 1 ? (parts[0] as Uint8Array) : new Uint8Array(parts.flatMap((part) => [...part]));
      }
      parts.push(bytesOfQuoted(token.slice(1, -1)));
    }
  }

  #next(): string {
    tokenPattern.lastIndex = this.#at;
    const match = tokenPattern.exec(this.#text);
    if (match === null) throw new Malformed(`character ${this.#at} cannot be understood`);
    this.#at = tokenPattern.lastIndex;
    return match[1] as string;
  }
}

const escapes: Record<string, number> = { a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11, '\\': 92, "'": 39, '"': 34, '?': 63 };

function bytesOfQuoted(quoted: string): Uint8Array {
  const raw = new TextEncoder().encode(quoted);
  const out = new Uint8Array(raw.length);
  let end = 0;
  for (let i = 0; i < raw.length; ) {
    const byte = raw[i] as number;
    if (byte !== 0x5c) {
      out[end++] = byte;
      i++;
      continue;
    }
    const rest = String.fromCharCode(...raw.subarray(i + 1, i + 4));
    const octal = /^[0-7]{1,3}/.exec(rest)?.[0];
    const hex = /^x[0-9a-fA-F]{1,2}/.exec(rest)?.[0];
    const simple = escapes[rest.charAt(0)];
    if (octal !== undefined) out[end++] = Number.parseInt(octal, 8) & 0xff;
    else if (hex !== undefined) out[end++] = Number.parseInt(hex.slice(1), 16);
    else if (simple !== undefined) out[end++] = simple;
    else throw new Malformed(`unknown escape \\${rest.charAt(0)}`);
    i += 1 + (octal?.length ?? hex?.length ?? 1);
  }
  return out.subarray(0, end);
}

const escaped = new Map<number, string>(
  Object.entries(escapes)
    .filter(([name]) => name !== '?')
    .map(([name, byte]) => [byte, `\\${name}`]),
);

/** A quoted string as Java's printer writes it: everything outside printable ASCII in octal. */
export function quoteText(value: Uint8Array | string): string {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  let out = '"';
  for (const byte of bytes) {
    const short = escaped.get(byte);
    if (short !== undefined) out += short;
    else out += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
  }
  return `${out}"`;
}

/** The string of a text field. */
export function textValue(field: TextField): string {
  if (!(field.value instanceof Uint8Array)) throw new Malformed(`${field.name} is no string`);
  return new TextDecoder().decode(field.value);
}

export function bytesValue(field: TextField): Uint8Array {
  if (!(field.value instanceof Uint8Array)) throw new Malformed(`${field.name} is no string`);
  return field.value;
}

export function numberValue(field: TextField): number {
  const value = typeof field.value === 'string' && /^[-+]?\d+$/.test(field.value) ? Number(field.value) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new Malformed(`${field.name} is no number below 2^53`);
  return value;
}

export function bigintValue(field: TextField): bigint {
  if (typeof field.value !== 'string' || !/^-?\d{1,20}$/.test(field.value)) throw new Malformed(`${field.name} is no number`);
  return BigInt(field.value);
}

export function wordValue(field: TextField): string {
  if (typeof field.value !== 'string') throw new Malformed(`${field.name} is no word`);
  return field.value;
}

export function blockValue(field: TextField): readonly TextField[] {
  if (typeof field.value === 'string' || field.value instanceof Uint8Array) throw new Malformed(`${field.name} is no block`);
  return field.value;
}
