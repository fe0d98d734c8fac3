import fc from 'fast-check';
import t from 'tap';
import { ByteReader } from './byte-reader.js';
import { ByteWriter } from './byte-writer.js';

const safeInteger = fc.maxSafeInteger();
const field = fc.oneof(
  fc.record({ kind: fc.constant('u8' as const), value: fc.nat(0xff) }),
  fc.record({ kind: fc.constant('u16' as const), value: fc.nat(0xffff) }),
  fc.record({ kind: fc.constant('u32' as const), value: fc.nat(0xffff_ffff) }),
  fc.record({ kind: fc.constant('i32' as const), value: fc.integer() }),
  fc.record({ kind: fc.constant('i64' as const), value: safeInteger }),
  fc.record({ kind: fc.constant('bigI64' as const), value: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) }),
  fc.record({ kind: fc.constant('bigU64' as const), value: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) }),
  fc.record({ kind: fc.constant('varint' as const), value: fc.maxSafeNat() }),
  fc.record({ kind: fc.constant('lengthAndText' as const), value: fc.string({ unit: 'binary' }) }),
  fc.record({ kind: fc.constant('lengthAndBytes' as const), value: fc.uint8Array() }),
);
type Field = typeof field extends fc.Arbitrary<infer F> ? F : never;

function written(fields: readonly Field[]): Buffer {
  const writer = new ByteWriter(4);
  for (const { kind, value } of fields) (writer[kind] as (value: unknown) => unknown).call(writer, value);
  return writer.copy();
}

function readAll(bytes: Uint8Array, fields: readonly Field[]): unknown[] {
  const reader = new ByteReader(bytes);
  return fields.map(({ kind }) => reader[kind]());
}

t.test('ByteWriter and ByteReader: any fields → the same again', async (t) => {
  fc.assert(
    fc.property(fc.array(field), (fields) => {
      const bytes = written(fields);
      const read = readAll(bytes, fields).map((value) => (Buffer.isBuffer(value) ? new Uint8Array(value) : value));
      t.strictSame(
        read,
        fields.map(({ value }) => value),
      );
    }),
    { numRuns: 50 },
  );
});

t.test('ByteReader: cut short anywhere → BYTES_TRUNCATED', async (t) => {
  fc.assert(
    fc.property(fc.array(field, { minLength: 1 }), fc.nat(), (fields, at) => {
      const bytes = written(fields);
      t.throws(() => readAll(bytes.subarray(0, at % bytes.length), fields), { code: 'BYTES_TRUNCATED' });
    }),
    { numRuns: 50 },
  );
});

t.test('ByteReader: 64-bit integer beyond 2^53 → BYTES_OUT_OF_RANGE, edges → read', async (t) => {
  for (const value of [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, -1, 0, 2 ** 32, -(2 ** 32)]) {
    const bytes = new ByteWriter().bigI64(BigInt(value)).copy();
    t.equal(new ByteReader(bytes).i64(), value);
    t.strictSame(new ByteWriter().i64(value).copy(), bytes);
  }
  for (const value of [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n)]) {
    t.throws(() => new ByteReader(new ByteWriter().bigI64(value).copy()).i64(), { code: 'BYTES_OUT_OF_RANGE' });
  }
});

t.test('ByteReader: varint too long or too large → BYTES_OUT_OF_RANGE', async (t) => {
  t.throws(() => new ByteReader(Buffer.alloc(12, 0xff)).varint(), { code: 'BYTES_OUT_OF_RANGE' });
  t.throws(() => new ByteReader(Buffer.from('ffffffffffffff7f', 'hex')).varint(), { code: 'BYTES_OUT_OF_RANGE' });
  t.equal(new ByteReader(Buffer.from('ac02', 'hex')).varint(), 300);
});

t.test('ByteReader: a window of the bytes → cannot be left', async (t) => {
  const reader = new ByteReader(Buffer.from([1, 2, 3, 4]), 1, 3);
  t.equal(reader.u16(), 0x0203);
  t.equal(reader.remaining, 0);
  t.throws(() => reader.u8(), { code: 'BYTES_TRUNCATED' });
  t.throws(() => new ByteReader(Buffer.alloc(4), 0, 5), { code: 'BYTES_TRUNCATED' });
  t.throws(() => new ByteReader(Buffer.alloc(4)).bytes(-1), { code: 'BYTES_TRUNCATED' });
});

t.test('ByteWriter: value that does not fit → BYTES_OUT_OF_RANGE', async (t) => {
  const writer = new ByteWriter();
  const wrong: (() => unknown)[] = [
    () => writer.u8(256),
    () => writer.u8(-1),
    () => writer.u16(65_536),
    () => writer.u32(2 ** 32),
    () => writer.u32(0.5),
    () => writer.i32(2 ** 31),
    () => writer.i64(2 ** 53),
    () => writer.varint(-1),
    () => writer.bigI64(2n ** 63n),
    () => writer.bigU64(-1n),
  ];
  for (const write of wrong) t.throws(write, { code: 'BYTES_OUT_OF_RANGE' });
  t.equal(writer.position, 0);
});

t.test('ByteWriter: setU32 and clear → patched, memory used again', async (t) => {
  const writer = new ByteWriter(2);
  writer.u32(0).text('héllo').zeros(2);
  writer.setU32(0, 6);
  t.equal(writer.written().toString('latin1'), '\0\0\0\x06hÃ©llo\0\0');
  t.equal(writer.written(4).length, 8);
  t.throws(() => writer.setU32(10, 1), { code: 'BYTES_TRUNCATED' });
  writer.clear();
  t.equal(writer.u8(1).copy().length, 1);
});
