import fc from 'fast-check';
import t from 'tap';
import { decodeReadPart, encodeReadPart, partsOfReply, readPartBytesMax } from './read-stream.js';
import type { ReadReply } from './service.js';

/** Of a gRPC message: a flag and its length. */
const frameBytes = 5;

t.test('read stream: any reply → parts in order, none beyond the bound unless it is one entry, together the same reply', async (t) => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 100_000 })), { minLength: 1, maxLength: 120 });
  fc.assert(
    fc.property(sizes, fc.nat(2 ** 40), (all, number) => {
      const reply: ReadReply = { code: 'OK', entries: all.map((bytes, i) => Buffer.alloc(bytes, i)) };
      const parts = partsOfReply(number, reply);
      const arrived = parts.map((part) => {
        const bytes = encodeReadPart(part);
        t.ok(bytes.length + frameBytes <= readPartBytesMax || part.entries.length === 1, `${bytes.length} bytes`);
        return decodeReadPart(bytes);
      });
      t.ok(arrived.every((part, i) => part.number === number && part.code === 'OK' && part.isLast === (i === parts.length - 1)));
      const entries = arrived.flatMap((part) => part.entries);
      t.ok(entries.length === all.length && entries.every((entry, i) => entry.equals(reply.entries[i] as Buffer)));
    }),
    { numRuns: 60 },
  );
});

t.test('read stream: reply without entries → one part with its code', async (t) => {
  t.same(partsOfReply(7, { code: 'NO_ENTRY', entries: [] }), [{ number: 7, isLast: true, code: 'NO_ENTRY', entries: [] }]);
});

t.test('read stream: encoded into given room → the same bytes, in that room if they fit', async (t) => {
  const part = { number: 3, isLast: true, code: 'OK' as const, entries: [Buffer.from('one'), Buffer.from('two')] };
  const alone = encodeReadPart(part);
  const room = Buffer.alloc(100, 0xff);
  const inRoom = encodeReadPart(part, room);
  t.ok(inRoom.equals(alone));
  t.equal(inRoom.buffer, room.buffer);
  t.not(encodeReadPart(part, room.subarray(0, alone.length - 1)).buffer, room.buffer);
});
