/** A number as it was spelt: `1e3` stays `1e3`, and 20 digits stay 20 digits. */
export class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type LiteralJson = string | boolean | null | NumberText | LiteralJson[] | Map<string, LiteralJson>;

/** What is wrong with a JSON text, in words for its sender. */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
}

const depthMax = 500;
const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these inside a text.
const notPlain = /[\u0000-\u001f\\]/;
const escapes: Record<string, string> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Reads the first JSON value of a text, as Pulsar's WebSocket service does: numbers keep their spelling, the last of a repeated member wins, and what
 * follows the value is ignored. Throws {@link JsonSyntaxError}.
 */
export function parseLiteralJson(text: string): LiteralJson {
  return new Parser(text).value(0);
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): LiteralJson {
    if (depth > depthMax) throw new JsonSyntaxError(`nested more than ${depthMax} deep`);
    this.#space();
    const character = this.#text[this.#at];
    switch (character) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      case undefined:
        throw new JsonSyntaxError(this.#at === 0 ? 'no content' : 'the text ends too early');
      default:
        return this.#number();
    }
  }

  #object(depth: number): Map<string, LiteralJson> {
    const members = new Map<string, LiteralJson>();
    this.#at++;
    this.#space();
    if (this.#take('}')) return members;
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') throw this.#unexpected('a member name in double quotes');
      const name = this.#string();
      this.#space();
      if (!this.#take(':')) throw this.#unexpected('a colon');
      members.set(name, this.value(depth + 1));
      this.#space();
      if (this.#take('}')) return members;
      if (!this.#take(',')) throw this.#unexpected('a comma or }');
    }
  }

  #array(depth: number): LiteralJson[] {
    const items: LiteralJson[] = [];
    this.#at++;
    this.#space();
    if (this.#take(']')) return items;
    for (;;) {
      items.push(this.value(depth + 1));
      this.#space();
      if (this.#take(']')) return items;
      if (!this.#take(',')) throw this.#unexpected('a comma or ]');
    }
  }

  #string(): string {
    const start = this.#at + 1;
    const end = this.#text.indexOf('"', start);
    if (end < 0) throw new JsonSyntaxError('a text is not closed');
    const plain = this.#text.slice(start, end);
    if (!notPlain.test(plain)) {
      this.#at = end + 1;
      return plain;
    }
    return this.#escaped(start);
  }

  #escaped(start: number): string {
    let out = '';
    let from = start;
    let at = start;
    for (;;) {
      const code = this.#text.charCodeAt(at);
      if (Number.isNaN(code)) throw new JsonSyntaxError('a text is not closed');
      if (code < 0x20) throw new JsonSyntaxError(`a text holds the control character ${code}: write it as an escape`);
      if (code === 0x22) break;
      if (code !== 0x5c) {
        at++;
        continue;
      }
      out += this.#text.slice(from, at);
      const letter = this.#text[at + 1] ?? '';
      if (letter === 'u') {
        const digits = this.#text.slice(at + 2, at + 6);
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw new JsonSyntaxError('\\u needs four hexadecimal digits');
        out += String.fromCharCode(Number.parseInt(digits, 16));
        at += 6;
      } else {
        const character = escapes[letter];
        if (character === undefined) throw new JsonSyntaxError(`\\${letter} is not an escape`);
        out += character;
        at += 2;
      }
      from = at;
    }
    this.#at = at + 1;
    return out + this.#text.slice(from, at);
  }

  #number(): NumberText {
    numberPattern.lastIndex = this.#at;
    const found = numberPattern.exec(this.#text);
    if (found === null) throw this.#unexpected('a JSON value');
    this.#at += found[0].length;
    this.#endOfToken();
    return new NumberText(found[0]);
  }

  #word<T extends boolean | null>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('a JSON value');
    this.#at += word.length;
    this.#endOfToken();
    return value;
  }

  /** A number or word must not run into other characters: `01`, `1x` and `nullx` are no values. */
  #endOfToken(): void {
    if (/[\w.+-]/.test(this.#text[this.#at] ?? '')) throw this.#unexpected('the end of a value');
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at++;
    }
  }

  #unexpected(wanted: string): JsonSyntaxError {
    const character = this.#text[this.#at];
    return new JsonSyntaxError(
      character === undefined ? 'the text ends too early' : `${wanted} was expected at character ${this.#at + 1}, not ${JSON.stringify(character)}`,
    );
  }
}
