import { readPartBytesMax } from '@daybook/proto';

/**
 * A payload that may be kept for long: it must not keep a large reply alive. A copy, unless what it is a view into is small (a part of a stream of reads is), or little else
 * than itself.
 */
export function withoutRest(payload: Buffer): Buffer {
  const { byteLength } = payload.buffer;
  return byteLength <= readPartBytesMax || byteLength <= 2 * payload.length ? payload : Buffer.from(payload);
}
