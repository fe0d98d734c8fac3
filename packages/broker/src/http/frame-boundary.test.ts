import fc from 'fast-check';
import t from 'tap';
import { FrameBoundary } from './frame-boundary.js';

function frame(opcode: number, bytes: number): Buffer {
  const head =
    bytes < 126
      ? [0x80 | opcode, bytes]
      : bytes < 65_536
        ? [0x80 | opcode, 126, bytes >> 8, bytes & 255]
        : [0x80 | opcode, 127, 0, 0, 0, 0, 0, bytes >> 16, (bytes >> 8) & 255, bytes & 255];
  return Buffer.concat([Buffer.from(head), Buffer.alloc(bytes, 0x88)]);
}

t.test('frame boundary: frames cut anywhere → closable exactly between them, and no more after a close frame', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(0, 1, 125, 126, 500, 65_535, 65_536), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 70_000 }),
      (sizes, step) => {
        const boundary = new FrameBoundary();
        t.ok(boundary.canClose);
        for (const size of sizes) {
          const bytes = frame(1, size);
          for (let at = 0; at < bytes.length; at += step) {
            boundary.pass(bytes.subarray(at, at + step));
            if (boundary.canClose !== at + step >= bytes.length) t.fail(`at ${at + step} of ${bytes.length}`);
          }
        }
        boundary.pass(frame(8, 2));
        t.notOk(boundary.canClose);
      },
    ),
  );
});
