import { readPartBytesMax } from '@daybook/proto';
import t from 'tap';
import { withoutRest } from './without-rest.js';

/** A small copy lies in a pool that many share: 8 KiB or, from Node 26 on, 64 KiB and a little. */
const poolBytes = Buffer.allocUnsafe(1).buffer.byteLength;

t.test('payload that is kept: view into something small, or into little else than itself → as it is; else a copy', async (t) => {
  const view = (wholeBytes: number, bytes: number) =>
    Buffer.allocUnsafeSlow(wholeBytes)
      .fill('x')
      .subarray(1, 1 + bytes);
  for (const [whole, bytes, isCopied] of [
    [readPartBytesMax, 10, false],
    [readPartBytesMax + 1, 10, true],
    [300_000, 100_000, true],
    [300_000, 200_000, false],
  ] as const) {
    const payload = view(whole, bytes);
    const kept = withoutRest(payload);
    t.ok(kept.equals(payload));
    t.equal(kept !== payload, isCopied, `${bytes} of ${whole}`);
    t.ok(kept.buffer.byteLength <= Math.max(readPartBytesMax, 2 * bytes, poolBytes));
  }
});
