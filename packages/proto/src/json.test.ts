import fc from 'fast-check';
import t from 'tap';
import { codeOf } from './fixtures.test.support.js';
import { parseJson, stringifyJson } from './json.js';

t.test('json: integers beyond 2^53 -> bigint, and the same text again', async (t) => {
  const text = '{"a":9223372036854775807,"b":[-9007199254740992,9007199254740991,1.5,1e300,-0,9007199254740993],"c":"9223372036854775807","d":{}}';
  const value = parseJson(text);
  t.same(value, {
    a: 9223372036854775807n,
    b: [-9007199254740992n, 9007199254740991, 1.5, 1e300, -0, 9007199254740993n],
    c: '9223372036854775807',
    d: {},
  });
  t.equal(stringifyJson(value), text.replace('1e300', '1e+300').replace('-0', '0'));
});

t.test('json: a key __proto__ among large numbers -> a field, not a prototype', async (t) => {
  const value = parseJson('{"__proto__":{"x":9223372036854775807},"toString":1}') as Record<string, unknown>;
  t.same(Object.keys(value), ['__proto__', 'toString']);
  t.equal(Object.getPrototypeOf(value), Object.prototype);
  t.equal(({} as { x?: unknown }).x, undefined);
});

const scalar = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.constant(null),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Number.isInteger(n)),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map((n) => (Number.isSafeInteger(Number(n)) ? Number(n) : n)),
);
const { value: anyJson } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 5 }, scalar, fc.array(tie('value')), fc.dictionary(fc.string(), tie('value'))),
}));

t.test('json: any value with large integers -> the same after a round trip, white space or not', async (t) => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const text = stringifyJson(value);
      t.same(parseJson(text), value);
      return true;
    }),
    { numRuns: 300 },
  );
  t.same(parseJson(' [ 1 , 9223372036854775807 ,\n\t{ "a" : [ ] , "b" : "\\"]" } ] '), [1, 9223372036854775807n, { a: [], b: '"]' }]);
});

t.test('json: any value without large integers -> as JSON.parse and JSON.stringify', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const isLarge = (n: unknown): boolean => typeof n === 'number' && Math.abs(n) > Number.MAX_SAFE_INTEGER;
      const text = JSON.stringify(value, (_, item) => (isLarge(item) ? 0.5 : item));
      t.equal(stringifyJson(JSON.parse(text)), text);
      t.same(parseJson(text), JSON.parse(text));
      return true;
    }),
  );
  t.equal(stringifyJson(undefined), 'null');
  t.equal(stringifyJson({ a: undefined, b: 1n, c: [undefined, 2n], d: new Date(0) }), '{"b":1,"c":[null,2],"d":"1970-01-01T00:00:00.000Z"}');
});

t.test('json: text that is none, cut at every length -> a coded error', async (t) => {
  const text = '{"a":[1,9223372036854775807,{"b":"x\\"y"}],"c":null}';
  for (let length = 0; length < text.length; length++)
    t.equal(
      codeOf(() => parseJson(text.slice(0, length))),
      'PROTO_JSON_MALFORMED',
    );
  for (const bad of ['{a:1}', '[1,]', '01', '{"a":9223372036854775807,}', 'NaN', '\u0000']) {
    t.equal(
      codeOf(() => parseJson(bad)),
      'PROTO_JSON_MALFORMED',
      bad,
    );
  }
});

t.test('json: nesting up to the limit -> parsed; one more, or a bomb of millions -> a coded error at once', async (t) => {
  const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  t.ok(Array.isArray(parseJson(nested(64))));
  t.equal(
    codeOf(() => parseJson(nested(65))),
    'PROTO_JSON_TOO_DEEP',
  );
  t.equal(
    codeOf(() => parseJson('['.repeat(5_000_000))),
    'PROTO_JSON_TOO_DEEP',
  );
  t.equal(
    codeOf(() => parseJson('{"a":'.repeat(1_000_000))),
    'PROTO_JSON_TOO_DEEP',
  );
  t.equal(
    codeOf(() => parseJson(`{"a":${'[{"b":'.repeat(40)}1${'}]'.repeat(40)}}`)),
    'PROTO_JSON_TOO_DEEP',
    'mixed',
  );
  t.equal((parseJson(`[${Array.from({ length: 500 }, () => '{}').join(',')}]`) as unknown[]).length, 500, 'many but flat');
  t.equal(parseJson(JSON.stringify('[{'.repeat(1000))), '[{'.repeat(1000), 'brackets in a string do not count');
  t.equal(
    codeOf(() => parseJson('"abcdef"', { depthMax: 1, lengthMax: 5 })),
    'PROTO_JSON_TOO_LONG',
  );
});

t.test('json: a string of many megabytes beside a large integer -> parsed', async (t) => {
  const long = 'x\\"'.repeat(4_000_000);
  t.same((parseJson(`[9223372036854775807,"${long}"]`) as unknown[])[0], 9223372036854775807n);
});
