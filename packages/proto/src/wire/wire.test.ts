import fc from 'fast-check';
import protobuf from 'protobufjs';
import t from 'tap';
import { Malformed } from '../errors.js';
import { readInt64, writeInt64 } from './int64.js';
import { textOf, WireReader } from './reader.js';
import { parseTextFormat, quoteText, textValue } from './text-format.js';
import { varintBytes, WireWriter, writeVarint } from './writer.js';

const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const reading = (bytes: Uint8Array): WireReader => {
  const reader = new WireReader(bytes);
  reader.next();
  return reader;
};

t.test('wire: any 64-bit number -> the same, as bigint and where it fits as number', async () => {
  fc.assert(fc.property(uint64, (value) => reading(new WireWriter().int(1, value).finish()).uint64() === value));
  fc.assert(fc.property(int64, (value) => reading(new WireWriter().int(1, value).finish()).int64() === value));
  fc.assert(fc.property(fc.maxSafeInteger(), (value) => reading(new WireWriter().int(1, value).finish()).int() === value));
  fc.assert(fc.property(fc.maxSafeNat(), (value) => reading(new WireWriter().int(1, value).finish()).uint() === value));
  fc.assert(fc.property(fc.integer(), (value) => reading(new WireWriter().int(1, value).finish()).int32() === value));
});

t.test('wire: a number -> varintBytes is what writeVarint takes', async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.maxSafeNat(),
        fc.constantFrom(...Array.from({ length: 53 }, (_, bit) => 2 ** bit), ...Array.from({ length: 53 }, (_, bit) => 2 ** bit - 1)),
      ),
      (value) => {
        return writeVarint(new Uint8Array(10), 0, value) === varintBytes(value);
      },
    ),
    { numRuns: 500 },
  );
});

t.test('wire: numbers beyond 2^53 -> refused, or saturated where asked', async (t) => {
  const big = new WireWriter().int(1, 2n ** 53n).finish();
  t.throws(() => reading(big).uint(), Malformed);
  t.throws(() => reading(big).int(), Malformed);
  t.throws(() => reading(new WireWriter().int(1, -(2n ** 53n)).finish()).int(), Malformed);
  t.equal(reading(big).uintSaturated(), Number.MAX_SAFE_INTEGER);
});

t.test('wire: broken fields -> Malformed', async (t) => {
  const cases: Record<string, string> = {
    'a number cut off': '08',
    'a number of eleven bytes': '08ffffffffffffffffffff01',
    'a number of 65 bits': '08ffffffffffffffffff02',
    'field number 0': '0001',
    'a group': '0b',
    'wire type 7': '0f',
    'a length beyond the end': '0a05616263',
    'a length beyond 2^32': '0affffffffff7f',
    'a fixed64 cut off': '09' + '00000000000000',
    'a fixed32 cut off': '0d000000',
  };
  for (const [name, text] of Object.entries(cases)) {
    t.throws(
      () => {
        const reader = new WireReader(Buffer.from(text, 'hex'));
        while (reader.next()) reader.skip();
      },
      Malformed,
      name,
    );
  }
  t.throws(() => reading(Buffer.from('0a00', 'hex')).uint(), Malformed, 'bytes where a number should be');
  t.throws(() => reading(Buffer.from('0801', 'hex')).bytes(), Malformed, 'a number where bytes should be');
});

t.test('wire: every kind of field -> what protobufjs reads and writes', async (t) => {
  const type = protobuf
    .parse(
      'syntax = "proto2"; message M { required int64 a = 1; optional string b = 2; repeated bytes c = 3; optional M d = 4; optional bool e = 5; repeated uint64 f = 300 [packed=true]; }',
    )
    .root.lookupType('M');
  const theirs = type
    .encode(type.fromObject({ a: -5, b: 'ü', c: [Buffer.from([1]), Buffer.alloc(0)], d: { a: 7 }, e: true, f: [1, 300, 70000] }))
    .finish();
  const ours = new WireWriter(1)
    .int(1, -5)
    .string(2, 'ü')
    .bytes(3, Buffer.from([1]))
    .bytes(3, Buffer.alloc(0))
    .message(4, new WireWriter().int(1, 7))
    .bool(5, true)
    .packed(300, [1, 300, 70000]);
  t.same(ours.finish(), Buffer.from(theirs));
  t.same(Buffer.from(ours.finishBytes()), Buffer.from(theirs));
});

t.test('wire: skip -> the whole field, tag included', async (t) => {
  const bytes = Buffer.from('0801' + '1203616263' + '190000000000000000' + '2501020304' + '3005', 'hex');
  const reader = new WireReader(bytes);
  const parts: Uint8Array[] = [];
  while (reader.next()) parts.push(reader.skip());
  t.equal(parts.length, 5);
  t.same(Buffer.concat(parts), bytes);
});

t.test('text: any text, short or long -> the same; a byte order mark stays; broken UTF-8 -> U+FFFD', async (t) => {
  fc.assert(
    fc.property(fc.string({ maxLength: 120, unit: 'grapheme' }), (text) => {
      const bytes = Buffer.from(text);
      return textOf(bytes, 0, bytes.length) === text;
    }),
  );
  t.equal(textOf(Buffer.from('\ufeffa'), 0, 4), '\ufeffa');
  t.equal(textOf(Buffer.from([0x61, 0xff]), 0, 2), 'a\ufffd');
});

t.test('int64: any safe integer -> as Buffer writes it; beyond -> not a safe integer', async (t) => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      const bytes = Buffer.alloc(8);
      writeInt64(bytes, 0, value);
      return bytes.readBigInt64BE() === BigInt(value) && readInt64(bytes, 0) === value;
    }),
  );
  for (const value of [2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n), -(2n ** 53n)]) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(value);
    t.notOk(Number.isSafeInteger(readInt64(bytes, 0)), String(value));
  }
});

t.test('text format: what people and other programs write -> fields', async (t) => {
  const fields = parseTextFormat(`# a comment
    a: 1; b: "x" 'y' , c { d: -5 } c: < d: WORD >
    e: "\\x41\\101\\n\\"ü" # the end`);
  t.same(
    fields.map(({ name }) => name),
    ['a', 'b', 'c', 'c', 'e'],
  );
  t.equal(textValue(fields[1] as (typeof fields)[number]), 'xy');
  t.equal(textValue(fields[4] as (typeof fields)[number]), 'AA\n"ü');
  t.same(fields[2]?.value, [{ name: 'd', value: '-5' }]);
});

t.test('text format: broken text -> Malformed', async (t) => {
  const bad = ['a', 'a:', 'a: "x', 'a 1', '{', 'a {', 'a { b: 1', '}', 'a: }', '5: 1', 'a: "\\q"', 'a: "\n"', `${'a {'.repeat(20)}`, 'a: 1 ]'];
  for (const text of bad) t.throws(() => parseTextFormat(text), Malformed, text);
  t.throws(() => parseTextFormat(`${'#'.repeat(50_000)}\n\u0001`), Malformed, 'comment signs do not multiply the work');
});

t.test('text format: any bytes -> quoted in printable ASCII, and read the same', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const text = `a: ${quoteText(bytes)}`;
      return /^[\x20-\x7e]*$/.test(text) && Buffer.from(parseTextFormat(text)[0]?.value as Uint8Array).equals(bytes);
    }),
  );
});
