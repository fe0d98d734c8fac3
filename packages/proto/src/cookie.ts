import { decoding, Malformed, protoErrors } from './errors.js';
import { parseTextFormat, quoteText, textValue } from './wire/text-format.js';

/**
 * The proof of a bookie's identity: file `VERSION` on each of its disks, and a record in the metadata store; both must be equal. BookKeeper's text:
 * a line `5`, then one line `name: "value"` per field, in this order. Directory lists are written as `count<TAB>dir<TAB>dir...`.
 */
export interface Cookie {
  /** The bookie's id (BookKeeper calls it host). */
  readonly bookieId: string;
  /** All journal directories; a comma between them in the text. */
  readonly journalDirectories: readonly string[];
  readonly ledgerDirectories: readonly string[];
  /** The cluster's id. */
  readonly instanceId: string | undefined;
  /** Left out when they are the ledger directories. */
  readonly indexDirectories: readonly string[] | undefined;
}

const cookieVersion = '5';

export function encodeCookie(cookie: Cookie): Buffer {
  const lines = [
    cookieVersion,
    `bookieHost: ${quoteText(cookie.bookieId)}`,
    `journalDir: ${quoteText(cookie.journalDirectories.join(','))}`,
    `ledgerDirs: ${quoteText(countedList(cookie.ledgerDirectories))}`,
  ];
  if (cookie.instanceId !== undefined) lines.push(`instanceId: ${quoteText(cookie.instanceId)}`);
  if (cookie.indexDirectories !== undefined) lines.push(`indexDirs: ${quoteText(countedList(cookie.indexDirectories))}`);
  return Buffer.from(`${lines.join('\n')}\n`);
}

/** Throws `PROTO_COOKIE_MALFORMED`, also for the layouts before 5. */
export function decodeCookie(bytes: Uint8Array): Cookie {
  return decoding(protoErrors.COOKIE_MALFORMED, () => {
    const text = new TextDecoder().decode(bytes);
    const lineEnd = text.indexOf('\n');
    if (lineEnd < 0) throw new Malformed('it has no version line');
    const version = text.slice(0, lineEnd).trimEnd();
    if (version !== cookieVersion) throw new Malformed(`its layout version is "${version}", not ${cookieVersion}`);
    const fields = new Map<string, string>();
    for (const field of parseTextFormat(text.slice(lineEnd + 1))) {
      if (fields.has(field.name)) throw new Malformed(`${field.name} is there twice`);
      fields.set(field.name, textValue(field));
    }
    return cookieOf(fields);
  });
}

function cookieOf(fields: ReadonlyMap<string, string>): Cookie {
  const indexDirs = fields.get('indexDirs');
  const known = ['bookieHost', 'journalDir', 'ledgerDirs', 'instanceId', 'indexDirs'];
  for (const name of fields.keys()) if (!known.includes(name)) throw new Malformed(`unknown field ${name}`);
  return {
    bookieId: required(fields, 'bookieHost'),
    journalDirectories: required(fields, 'journalDir').split(','),
    ledgerDirectories: directoriesOf(required(fields, 'ledgerDirs')),
    instanceId: fields.get('instanceId'),
    indexDirectories: indexDirs === undefined ? undefined : directoriesOf(indexDirs),
  };
}

function required(fields: ReadonlyMap<string, string>, name: string): string {
  const value = fields.get(name);
  if (value === undefined) throw new Malformed(`${name} is missing`);
  return value;
}

function countedList(directories: readonly string[]): string {
  return [directories.length, ...directories].join('\t');
}

function directoriesOf(text: string): string[] {
  const [count, ...directories] = text.split('\t');
  if (count !== String(directories.length)) throw new Malformed(`a list says ${count} directories and has ${directories.length}`);
  return directories;
}
