/**
 * Parses text that JSON.parse has already taken, and whose depth is bounded: valid JSON, so nothing is checked again. Integers beyond 2^53 become bigint;
 * everything else is as JSON.parse has it (a repeated key: the last one counts).
 */
export function parseBigJson(text: string): unknown {
  return new Parser(text).value();
}

/** What is not a string, with what stands between values in front of it. */
const token = /[\s,:]*("|-?[\d.eE+-]+|true|false|null|[[\]{}])/y;

/** The place of the quote that ends the string beginning at `start`; the length of the text when there is none. */
export function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x5c) i++;
    else if (code === 0x22) return i;
  }
  return text.length;
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    return this.#valueOf(this.#next());
  }

  #next(): string {
    token.lastIndex = this.#at;
    const found = token.exec(this.#text)?.[1] as string;
    this.#at = token.lastIndex;
    if (found !== '"') return found;
    // Not by the expression: a long string would overflow its stack.
    const start = this.#at - 1;
    this.#at = endOfString(this.#text, start) + 1;
    return this.#text.slice(start, this.#at);
  }

  #valueOf(first: string): unknown {
    switch (first[0]) {
      case '{':
        return this.#object();
      case '[':
        return this.#array();
      case '"':
      case 't':
      case 'f':
      case 'n':
        return JSON.parse(first);
      default:
        return numberOf(first);
    }
  }

  #array(): unknown[] {
    const items: unknown[] = [];
    for (let next = this.#next(); next !== ']'; next = this.#next()) items.push(this.#valueOf(next));
    return items;
  }

  #object(): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    for (let next = this.#next(); next !== '}'; next = this.#next()) {
      // Not an assignment: a key "__proto__" is an ordinary field.
      Object.defineProperty(fields, JSON.parse(next), { value: this.value(), writable: true, enumerable: true, configurable: true });
    }
    return fields;
  }
}

function numberOf(literal: string): number | bigint {
  const number = Number(literal);
  return Number.isSafeInteger(number) || /[.eE]/.test(literal) ? number : BigInt(literal);
}
