import fc from 'fast-check';
import t from 'tap';
import { parseRequestTarget } from './request-target.js';

t.test('request target: paths → split before they are decoded, each part decoded once', async (t) => {
  const table: [string, string[] | undefined][] = [
    ['/admin/v2/tenants', ['admin', 'v2', 'tenants']],
    ['/admin/v2//tenants/', ['admin', 'v2', 'tenants']],
    ['/a%2Fb/c', ['a/b', 'c']],
    ['/a%252Fb', ['a%2Fb']],
    ['/a+b', ['a+b']],
    ['/a%2Bb', ['a+b']],
    ['/a%20b', ['a b']],
    ['/%C3%BCn%C3%AF', ['ünï']],
    ['/%ff', ['\ufffd']],
    ['/%25', ['%']],
    ['/.', ['.']],
    ['/..', ['..']],
    ['/%zz', undefined],
    ['/a%2', undefined],
    ['/a%', undefined],
    ['/a%00b', undefined],
  ];
  for (const [path, segments] of table) t.strictSame(parseRequestTarget(path)?.segments, segments, path);
});

t.test('request target: a query → form-decoded, the first of repeated values', async (t) => {
  const target = parseRequestTarget('/x?a=1&a=2&b=c%20d+e&flag&=x&plus=%2B');
  t.strictSame(
    [...(target?.query ?? [])],
    [
      ['a', '1'],
      ['b', 'c d e'],
      ['flag', ''],
      ['', 'x'],
      ['plus', '+'],
    ],
  );
  t.equal(parseRequestTarget('/x?a=%zz'), undefined);
});

t.test('request target: any name → encoded by a client, it comes out as it was', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
      if (name.includes('\0')) return;
      t.strictSame(parseRequestTarget(`/x/${encodeURIComponent(name)}`)?.segments, ['x', name]);
    }),
  );
});
