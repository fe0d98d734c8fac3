const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const valueOfCharacter = makeValues();

function makeValues(): Int8Array {
  const out = new Int8Array(128).fill(-1);
  for (let i = 0; i < alphabet.length; i++) out[alphabet.charCodeAt(i)] = i;
  return out;
}

/** Standard base64 with padding, for a few bytes (message ids): at that size faster than a call into the runtime, and it runs in browsers. */
export function shortBase64(bytes: Uint8Array, end: number): string {
  let text = '';
  for (let i = 0; i < end; i += 3) {
    const a = bytes[i] as number;
    const b = i + 1 < end ? (bytes[i + 1] as number) : 0;
    const c = i + 2 < end ? (bytes[i + 2] as number) : 0;
    text += alphabet.charAt(a >> 2) + alphabet.charAt(((a & 3) << 4) | (b >> 4));
    text += i + 1 < end ? alphabet.charAt(((b & 15) << 2) | (c >> 6)) : '=';
    text += i + 2 < end ? alphabet.charAt(c & 63) : '=';
  }
  return text;
}

/** The bytes, or undefined when `text` is not base64 of the standard alphabet (padding may be missing). */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  let length = text.length;
  while (length > 0 && text.length - length < 2 && text.charCodeAt(length - 1) === 0x3d) length--;
  if (length % 4 === 1 || (length !== text.length && text.length % 4 !== 0)) return undefined;
  const out = new Uint8Array((length * 3) >> 2);
  let at = 0;
  let bits = 0;
  let pending = 0;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    const value = code < 128 ? (valueOfCharacter[code] as number) : -1;
    if (value < 0) return undefined;
    pending = ((pending << 6) | value) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out[at++] = (pending >> bits) & 0xff;
    }
  }
  return out;
}
