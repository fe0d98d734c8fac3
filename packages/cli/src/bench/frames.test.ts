import fc from 'fast-check';
import t from 'tap';
import { clientFrame, FrameParser, opcodes } from './frames.js';

/** As a server sends it. */
function serverFrame(payload: Buffer, opcode: number = opcodes.text): Buffer {
  const masked = clientFrame(payload, opcode);
  const maskAt = masked.length - payload.length - 4;
  const frame = Buffer.concat([masked.subarray(0, maskAt), payload]);
  frame[1] = frame[1]! & 0x7f;
  return frame;
}

function parse(chunks: readonly Buffer[]): [number, string][] {
  const frames: [number, string][] = [];
  const parser = new FrameParser((opcode, bytes, start, end) => frames.push([opcode, bytes.toString('latin1', start, end)]));
  for (const chunk of chunks) parser.push(chunk);
  return frames;
}

t.test('client frame: RFC 6455 bytes for each length form', async (t) => {
  t.equal(clientFrame(Buffer.from('Hi')).toString('hex'), '8182000000004869');
  t.equal(clientFrame(Buffer.alloc(126)).subarray(0, 8).toString('hex'), '81fe007e00000000');
  t.equal(clientFrame(Buffer.alloc(65_536)).subarray(0, 14).toString('hex'), '81ff000000000001000000000000');
});

t.test('parser: frames cut anywhere -> the same frames', async () => {
  const payloads = fc.array(fc.oneof(fc.string({ maxLength: 20 }), fc.constantFrom('x'.repeat(125), 'y'.repeat(126), 'z'.repeat(66_000))), {
    maxLength: 6,
  });
  fc.assert(
    fc.property(payloads, fc.array(fc.nat(70_000), { maxLength: 8 }), (texts, cuts) => {
      const wire = Buffer.concat(texts.map((text) => serverFrame(Buffer.from(text, 'latin1'))));
      const at = [0, ...cuts.map((cut) => Math.min(cut, wire.length)).sort((a, b) => a - b), wire.length];
      const chunks = at.slice(1).map((end, index) => wire.subarray(at[index], end));
      const expected = texts.map((text) => [opcodes.text, Buffer.from(text, 'latin1').toString('latin1')]);
      return JSON.stringify(parse(chunks)) === JSON.stringify(expected);
    }),
  );
});

t.test('parser: a masked or fragmented frame -> an error, not garbage', async (t) => {
  t.throws(() => parse([clientFrame(Buffer.from('x'))]), /fragmented or masked/);
  const fragment = serverFrame(Buffer.from('x'));
  fragment[0] = opcodes.text;
  t.throws(() => parse([fragment]), /fragmented or masked/);
});
