/**
 * Standard base64 (RFC 4648 section 4) as Java's basic decoder takes it: no URL-safe letters, no blanks or line breaks; padding may be left out.
 */

/** Bytes that `length` characters of unpadded base64 stand for; -1 when no text has that length. */
export function decodedBytes(length: number): number {
  const rest = length & 3;
  return rest === 1 ? -1 : (length >> 2) * 3 + (rest === 0 ? 0 : rest - 1);
}

/** Why a text is not standard base64, or undefined when it is. */
export function base64Fault(text: string): string | undefined {
  let end = text.length;
  if (end > 0 && text.charCodeAt(end - 1) === 0x3d) end -= text.charCodeAt(end - 2) === 0x3d ? 2 : 1;
  const stranger = /[^A-Za-z0-9+/]/.exec(text.slice(0, end));
  if (stranger !== null) return `Illegal base64 character ${stranger[0].charCodeAt(0).toString(16)}`;
  if (end !== text.length && (text.length & 3) !== 0) return 'Input byte array has wrong 4-byte ending unit';
  if ((end & 3) === 1) return 'Last unit does not have enough valid bits';
  return undefined;
}

/** How many of the last characters are padding: 0, 1 or 2. */
export function paddingOf(text: string): number {
  if (!text.endsWith('=')) return 0;
  return text.endsWith('==') ? 2 : 1;
}
