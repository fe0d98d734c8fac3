import fc from 'fast-check';
import t from 'tap';
import { type BookieServiceInfo, decodeBookieServiceInfo, encodeBookieServiceInfo } from './bookie-service-info.js';
import { type Cookie, decodeCookie, encodeCookie } from './cookie.js';
import { protoErrors } from './errors.js';
import { checkTruncations, codeOf, fixture, hex } from './fixtures.test.support.js';

const vectors = fixture<{ cookies: { path: string; hex: string }[]; serviceInfos: { path: string; hex: string }[] }>('registration.json');
const [cookie, relative] = vectors.cookies.map((row) => decodeCookie(hex(row.hex))) as [Cookie, Cookie];

t.test('cookie: those of BookKeeper and Pulsar -> their fields, and the same bytes again', async (t) => {
  t.same(cookie, {
    bookieId: '127.0.0.1:13181',
    journalDirectories: ['b1/journal'],
    ledgerDirectories: ['b1/ledgers'],
    instanceId: 'f0f41bcc-5af3-4048-83a6-d5f2b68b8e9a',
    indexDirectories: undefined,
  });
  t.same([relative.bookieId, relative.instanceId], ['bk0test', undefined]);
  for (const row of vectors.cookies) t.equal(encodeCookie(decodeCookie(hex(row.hex))).toString('hex'), row.hex, row.path);
});

const name = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }).filter((text) => !/[\t,]/.test(text));
const directories = fc.array(name, { minLength: 1, maxLength: 3 });

t.test('cookie: any identity -> the same after a round trip', async (t) => {
  const any = fc.record({
    bookieId: name,
    journalDirectories: directories,
    ledgerDirectories: directories,
    instanceId: fc.option(name, { nil: undefined }),
    indexDirectories: fc.option(directories, { nil: undefined }),
  });
  fc.assert(fc.property(any, (value) => t.same(decodeCookie(encodeCookie(value)), value)));
});

t.test('cookie: cut at every length, or wrong -> a coded error', async (t) => {
  checkTruncations(t, encodeCookie(cookie), decodeCookie, protoErrors.COOKIE_MALFORMED, (value) => {
    return value.bookieId === cookie.bookieId && (value.instanceId === undefined || value.instanceId === cookie.instanceId);
  });
  const text = encodeCookie(cookie).toString();
  const cases = {
    'layout version is "4"': text.replace(/^5/, '4'),
    'no version line': '5',
    'ledgerDirs is missing': text.replace(/ledgerDirs.*\n/, ''),
    'says 2 directories': text.replace('"1\\t', '"2\\t'),
    'is there twice': `${text}bookieHost: "other"\n`,
    'unknown field colour': `${text}colour: "red"\n`,
    'is no string': text.replace('"b1/journal"', '7'),
  };
  for (const [detail, bad] of Object.entries(cases)) {
    t.throws(() => decodeCookie(Buffer.from(bad)), { code: 'PROTO_COOKIE_MALFORMED', message: new RegExp(detail) }, detail);
  }
});

t.test('bookie service info: those of BookKeeper and Pulsar -> their fields, and the same bytes again', async (t) => {
  const none = { auth: [], extensions: [] };
  const infos = vectors.serviceInfos.map((row) => decodeBookieServiceInfo(hex(row.hex)));
  t.same(infos[0]?.endpoints, [
    { id: 'httpserver', port: 18001, host: '127.0.0.1', protocol: 'http', ...none },
    { id: 'bookie', port: 13181, host: '127.0.0.1', protocol: 'bookie-rpc', ...none },
  ]);
  t.same(infos[1]?.endpoints, [{ id: 'bookie', port: 23181, host: '127.0.0.1', protocol: 'bookie-rpc', ...none }]);
  for (const [index, info] of infos.entries()) t.equal(encodeBookieServiceInfo(info).toString('hex'), vectors.serviceInfos[index]?.hex);
  t.same(decodeBookieServiceInfo(Buffer.alloc(0)), { endpoints: [], properties: new Map() }, 'an empty record of an old bookie');
});

t.test('bookie service info: any record -> the same after a round trip; cut -> a coded error or a first part', async (t) => {
  const endpoint = fc.record({
    id: name,
    port: fc.integer({ min: 0, max: 65_535 }),
    host: name,
    protocol: name,
    auth: fc.array(name, { maxLength: 2 }),
    extensions: fc.array(name, { maxLength: 2 }),
  });
  const any: fc.Arbitrary<BookieServiceInfo> = fc.record({
    endpoints: fc.array(endpoint, { maxLength: 3 }),
    properties: fc.array(fc.tuple(name, name), { maxLength: 3 }).map((list) => new Map(list)),
  });
  fc.assert(fc.property(any, (value) => t.same(decodeBookieServiceInfo(encodeBookieServiceInfo(value)), value)));
  const [first] = vectors.serviceInfos;
  checkTruncations(t, hex(first?.hex as string), decodeBookieServiceInfo, protoErrors.SERVICE_INFO_MALFORMED, (value) => value.endpoints.length < 2);
  t.equal(
    codeOf(() => decodeBookieServiceInfo(hex('3203' + '0a0161'))),
    'PROTO_SERVICE_INFO_MALFORMED',
    'an endpoint without host and port',
  );
});
