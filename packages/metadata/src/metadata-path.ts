import { metadataErrors } from './errors.js';

/** Longest path, in UTF-8 bytes. */
export const pathBytesMax = 16_384;

/** Why no path leads below an ephemeral value. */
export const underEphemeral = 'the value above it is ephemeral and takes no children';

/** What ZooKeeper refuses in names: control characters, surrogates, private use and non-characters. All stores refuse the same. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are exactly the ones to find.
const forbiddenCharacters = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/;
const emptyOrDotPart = /\/(?:\.{0,2})(?:\/|$)/;

/** Rejects what no store takes. The root itself (`/`) is a valid path to read. */
export function checkPath(path: string): void {
  if (path === '/') return;
  const isGood =
    typeof path === 'string' &&
    path.startsWith('/') &&
    !emptyOrDotPart.test(path) &&
    !forbiddenCharacters.test(path) &&
    (path.length * 3 <= pathBytesMax || Buffer.byteLength(path) <= pathBytesMax);
  if (!isGood) throw metadataErrors.BAD_PATH(String(path));
}

/** For writes: the root is always there and belongs to nobody. */
export function checkWritablePath(path: string): void {
  checkPath(path);
  if (path === '/') throw metadataErrors.BAD_PATH(path);
}

/** The path one level up; `/` for a top-level one. */
export function parentOf(path: string): string {
  const end = path.lastIndexOf('/');
  return end <= 0 ? '/' : path.slice(0, end);
}

export function lastPart(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The ten digits that a sequential name ends with. */
export function sequenceDigits(sequence: number): string {
  return String(sequence).padStart(10, '0');
}
