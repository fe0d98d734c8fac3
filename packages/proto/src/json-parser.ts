/**
 * Parses text that JSON.parse has already taken, and whose depth is bounded: valid JSON, so nothing is checked again. Integers beyond 2^53 become bigint;
 * everything else is as JSON.parse has it (a repeated key: the last one counts).
 */
export function parseBigJson(text: string): unknown {
  return new Parser(text).value();
}

const token = /[\s,:]*("(?:[^"\\]|\\.)*"|-?[\d.eE+-]+|true|false|null|[[\]{}])/y;

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
    return found;
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
