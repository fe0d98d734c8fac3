import fc from 'fast-check';
import t from 'tap';
import { compareLogPositions, decodePosition, encodePosition, firstPosition, formatPosition, nextPosition, noPosition } from './log-position.js';

const positions = fc.record({
  sequence: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  entryId: fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER }),
  slot: fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER }),
});

t.test('log position: encoded → the bytes of a version 1 DLSN, and back', async (t) => {
  const golden = Buffer.from('01000000000000000100000000000000000000000000000000', 'hex').toString('base64');
  t.equal(encodePosition(firstPosition), golden);
  t.same(decodePosition(golden), firstPosition);
  const none = Buffer.from('010000000000000000ffffffffffffffffffffffffffffffff', 'hex').toString('base64');
  t.equal(encodePosition(noPosition), none);
  fc.assert(fc.property(positions, (position) => t.same(decodePosition(encodePosition(position)), position)));
});

t.test('log position: cut, too long, other version, no base64, beyond 2^53 → LOG_BAD_POSITION', async (t) => {
  const good = Buffer.from(encodePosition({ sequence: 3, entryId: 17, slot: 2 }), 'base64');
  const bad = [
    '',
    'hello',
    ...Array.from({ length: good.length }, (_, bytes) => good.subarray(0, bytes).toString('base64')),
    Buffer.concat([good, Buffer.from([0])]).toString('base64'),
    Buffer.concat([Buffer.from([0]), good.subarray(1)]).toString('base64'),
    Buffer.concat([Buffer.from([1, 0x7f]), good.subarray(2)]).toString('base64'),
    `${good.toString('base64')}!`,
  ];
  for (const text of bad) t.throws(() => decodePosition(text), { code: 'LOG_BAD_POSITION' }, text);
});

t.test('log position: order → segment, entry, slot; the next one is the least above', async (t) => {
  fc.assert(
    fc.property(positions, positions, (a, b) => {
      t.equal(Math.sign(compareLogPositions(a, b)), -Math.sign(compareLogPositions(b, a)) || 0);
      t.equal(compareLogPositions(a, a), 0);
      if (a.slot < Number.MAX_SAFE_INTEGER) t.ok(compareLogPositions(a, nextPosition(a)) < 0);
    }),
    { numRuns: 50 },
  );
  t.ok(compareLogPositions({ sequence: 1, entryId: 9, slot: 9 }, { sequence: 2, entryId: 0, slot: 0 }) < 0);
  t.ok(compareLogPositions({ sequence: 1, entryId: 1, slot: 9 }, { sequence: 1, entryId: 2, slot: 0 }) < 0);
  t.equal(formatPosition({ sequence: 2, entryId: 0, slot: 5 }), '2:0:5');
});
