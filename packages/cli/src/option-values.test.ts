import t from 'tap';
import { property, wholeNumber } from './option-values.js';

t.test('wholeNumber: digits within the range -> the number', async (t) => {
  t.equal(wholeNumber(0, 10)('10'), 10);
  t.equal(wholeNumber(1)('9007199254740991'), Number.MAX_SAFE_INTEGER);
});

for (const text of ['', '-1', '1.5', '1e3', '0x10', ' 1', 'ten', '11', '9007199254740993']) {
  t.test(`wholeNumber: "${text}" for 0 to 10 -> refused with the range`, async (t) => {
    t.throws(() => wholeNumber(0, 10)(text), /whole number from 0 to 10/);
  });
}

t.test('property: NAME=VALUE -> added; the value may hold = and be empty', async (t) => {
  t.same(property('b=c=d', { a: '1' }), { a: '1', b: 'c=d' });
  t.same(property('a=', { a: '1' }), { a: '' });
});

for (const text of ['a', '=b', '']) {
  t.test(`property: "${text}" -> refused`, async (t) => t.throws(() => property(text, {}), /NAME=VALUE/));
}
