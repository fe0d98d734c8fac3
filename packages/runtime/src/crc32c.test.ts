import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { crc32, tableCrc32 } from './crc32.js';
import { crc32c, crc32cParts } from './crc32c.js';

function bitwise(bytes: Uint8Array, polynomial: number, seed = 0): number {
  let crc = ~seed;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  }
  return ~crc >>> 0;
}

t.test('crc32c: published vectors (RFC 3720, B.4)', async (t) => {
  const ascending = Uint8Array.from({ length: 32 }, (_, i) => i);
  t.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
  t.equal(crc32c(Buffer.alloc(32)), 0x8a9136aa);
  t.equal(crc32c(Buffer.alloc(32, 0xff)), 0x62a8ab43);
  t.equal(crc32c(ascending), 0x46dd794e);
  t.equal(crc32c(ascending.toReversed()), 0x113fdb5c);
  t.equal(crc32c(Buffer.alloc(0)), 0);
});

t.test('crc32c: any bytes, any seed → as computed bit by bit', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3000 }), fc.nat(0xffff_ffff), (bytes, seed) => crc32c(bytes, seed) === bitwise(bytes, 0x82f63b78, seed)),
  );
});

t.test('crc32c: every length around the limits of its ways, unaligned views → as computed bit by bit', async (t) => {
  const all = Uint8Array.from({ length: 200_000 }, (_, i) => (i * 2_654_435_761) >>> 13);
  const lengths = [...Array(70).keys(), 65_535, 65_536, 65_537, 65_536 + 16, 131_072, 131_073, 199_990];
  for (const length of lengths) {
    const view = all.subarray(3, 3 + length);
    if (crc32c(view) !== bitwise(view, 0x82f63b78)) t.fail(`length ${length}`);
  }
});

t.test('crc32c: bytes in parts → as in one piece', async () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 10 }), (parts) => crc32cParts(parts) === crc32c(Buffer.concat(parts))),
  );
});

t.test('crc32c: the module in the source → what the script assembles', async (t) => {
  const script = new URL('../scripts/build-crc32c.mjs', import.meta.url).pathname;
  const source = new URL('../src/crc32c-module.ts', import.meta.url).pathname;
  t.equal(readFileSync(source, 'utf8'), execFileSync(process.execPath, [script, '--print'], { encoding: 'utf8' }));
});

t.test('crc32: zlib and table → both as computed bit by bit', async (t) => {
  t.equal(crc32(Buffer.from('123456789')), 0xcbf43926);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), fc.nat(0xffff_ffff), (bytes, seed) => {
      const expected = bitwise(bytes, 0xedb88320, seed);
      return crc32(bytes, seed) === expected && tableCrc32(bytes, seed) === expected;
    }),
  );
});
