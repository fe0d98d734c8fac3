import fc from 'fast-check';
import t from 'tap';
import { JsonSyntaxError, type LiteralJson, NumberText, parseLiteralJson } from './literal-json.js';

function plain(value: LiteralJson): unknown {
  if (value instanceof NumberText) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  const members: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, item] of value) members[name] = plain(item);
  return members;
}

t.test('literal JSON: any JSON text → the same value as JSON.parse', async (t) => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false }), fc.constantFrom(undefined, 2), (text, indent) => {
      const printed = JSON.stringify(JSON.parse(text), undefined, indent);
      t.strictSame(JSON.stringify(plain(parseLiteralJson(printed))), JSON.stringify(JSON.parse(printed)));
    }),
  );
});

t.test('literal JSON: numbers → as they were spelt', async (t) => {
  for (const text of ['0', '-0', '1e3', '1.50', '-12E-7', '12345678901234567890']) t.equal((parseLiteralJson(text) as NumberText).text, text);
});

t.test('literal JSON: what is wrong → an error in words; what follows the value → ignored', async (t) => {
  for (const text of [
    '',
    ' ',
    '{',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{a:1}',
    "{'a':1}",
    '{"a":1,}',
    '[1,]',
    '[1',
    '01',
    '1.',
    '.5',
    '+1',
    'NaN',
    'nul',
    'nullx',
    '"a',
    '"\\x"',
    '"\\u12"',
    '"\n"',
    '}',
  ]) {
    t.throws(() => parseLiteralJson(text), JsonSyntaxError, text);
  }
  t.strictSame(parseLiteralJson('{"a":"b"} trailing {'), new Map([['a', 'b']]));
  t.strictSame(parseLiteralJson('{"a":"b","a":"c"}'), new Map([['a', 'c']]));
});
