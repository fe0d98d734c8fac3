/** A request's path and query, split before anything is decoded, each part decoded exactly once. */
export interface RequestTarget {
  /** Non-empty parts of the path, decoded. */
  segments: readonly string[];
  /** True when the path ends with `/`. */
  endsWithSlash: boolean;
  /** The first value of each query parameter. */
  query: ReadonlyMap<string, string>;
}

/** Undefined for a path or query with a broken escape or an encoded NUL: answered with 400 before any handler. */
export function parseRequestTarget(target: string): RequestTarget | undefined {
  const question = target.indexOf('?');
  const path = question < 0 ? target : target.slice(0, question);
  const segments: string[] = [];
  for (const part of path.split('/')) {
    if (part === '') continue;
    const segment = percentDecode(part);
    if (segment === undefined) return undefined;
    segments.push(segment);
  }
  const query = new Map<string, string>();
  for (const pair of question < 0 ? [] : target.slice(question + 1).split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = percentDecode(formBlanks(equals < 0 ? pair : pair.slice(0, equals)));
    const value = percentDecode(formBlanks(equals < 0 ? '' : pair.slice(equals + 1)));
    if (name === undefined || value === undefined) return undefined;
    if (!query.has(name)) query.set(name, value);
  }
  return { segments, endsWithSlash: path.endsWith('/'), query };
}

/** In a query, unlike in a path, `+` is a blank. */
function formBlanks(text: string): string {
  return text.includes('+') ? text.replaceAll('+', ' ') : text;
}

const plain = /^[\x21-\x24\x26-\x7e ]*$/;
const escaped = /%([0-9a-fA-F]{2})?/g;

/** `%` and two digits stand for a byte of UTF-8 (invalid sequences become U+FFFD); everything else, `+` included, stands for itself. */
function percentDecode(text: string): string | undefined {
  if (plain.test(text)) return text;
  let isBroken = false;
  const bytes = text.replace(escaped, (_, digits: string | undefined) => {
    if (digits === undefined || digits === '00') isBroken = true;
    return String.fromCharCode(Number.parseInt(digits ?? '20', 16));
  });
  return isBroken || bytes.includes('\0') ? undefined : Buffer.from(bytes, 'latin1').toString('utf8');
}
