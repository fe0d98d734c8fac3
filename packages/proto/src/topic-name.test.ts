import fc from 'fast-check';
import t from 'tap';
import { codeOf } from './fixtures.test.support.js';
import { topicHash } from './topic-hash.js';
import {
  formDecode,
  formEncode,
  hasPartitionMark,
  isValidName,
  managedLedgerName,
  parseTopicName,
  partitionedTopicOf,
  partitionOf,
  topicNameOf,
  topicNameOfManagedLedger,
  topicUrlPath,
} from './topic-name.js';

t.test('topic name: every accepted form -> its full name', async (t) => {
  const forms = {
    orders: 'persistent://public/default/orders',
    'acme/plain/orders': 'persistent://acme/plain/orders',
    'persistent://acme/plain/orders': 'persistent://acme/plain/orders',
    'non-persistent://acme/plain/orders': 'non-persistent://acme/plain/orders',
    'persistent://a-=:._1/b-=:._2/ünï cödé': 'persistent://a-=:._1/b-=:._2/ünï cödé',
  };
  for (const [text, full] of Object.entries(forms)) {
    const name = parseTopicName(text);
    t.equal(name.full, full);
    t.equal(name.namespaceName, `${name.tenant}/${name.namespace}`);
  }
  t.same(parseTopicName('non-persistent://acme/plain/x-partition-3'), {
    domain: 'non-persistent',
    tenant: 'acme',
    namespace: 'plain',
    local: 'x-partition-3',
    partition: 3,
    full: 'non-persistent://acme/plain/x-partition-3',
    namespaceName: 'acme/plain',
  });
});

t.test('topic name: anything else -> a coded error', async (t) => {
  const bad = [
    '',
    'a/b',
    'a/b/c/d',
    'http://a/b/c',
    'Persistent://a/b/c',
    'persistent://a/b',
    'persistent://a/cluster/b/c',
    'persistent://a/b/c/d',
    'persistent://a/b/',
    'persistent:///b/c',
    'persistent://a//c',
    'persistent://a b/c/d',
    'persistent://ä/c/d',
    'persistent://../c/d',
    'persistent://a/./d',
    'persistent://a/b/..',
    'persistent://a/b/\ud800',
    'persistent://a/b/x\0y',
  ];
  for (const text of bad)
    t.equal(
      codeOf(() => parseTopicName(text)),
      'PROTO_TOPIC_NAME_INVALID',
      text,
    );
  t.equal(
    codeOf(() => topicNameOf('persistent', 'a', 'b', 'c/d')),
    'PROTO_TOPIC_NAME_INVALID',
  );
});

t.test('names of tenants, namespaces and clusters: letters, digits and _ - = : . -> valid, nothing else', async (t) => {
  for (const name of ['a', 'A-b=c:d.e_f0', '...', '0']) t.ok(isValidName(name), name);
  for (const name of ['', '.', '..', 'a b', 'a/b', 'ä', 'a%', 'a\n']) t.notOk(isValidName(name), name);
});

t.test('partition suffix: a number as it is printed -> that partition; anything else -> none', async (t) => {
  const cases: [string, number | undefined][] = [
    ['x-partition-0', 0],
    ['x-partition-12', 12],
    ['x-partition-2147483647', 2147483647],
    ['x-partition-1-partition-2', 2],
    ['x-partition-2147483648', undefined],
    ['x-partition-01', undefined],
    ['x-partition--1', undefined],
    ['x-partition-a', undefined],
    ['x-partition-', undefined],
    ['x-partition-1-partition-a', undefined],
    ['x', undefined],
  ];
  for (const [local, partition] of cases) t.equal(parseTopicName(local).partition, partition, local);
  const topic = parseTopicName('x');
  t.equal(partitionOf(topic, 7).local, 'x-partition-7');
  t.equal(partitionedTopicOf(partitionOf(topic, 7)).full, topic.full);
  t.equal(partitionedTopicOf(topic), topic);
  t.equal(partitionedTopicOf(parseTopicName('-partition-0')).local, '-partition-0');
  t.ok(hasPartitionMark('x-partition-a'));
  t.notOk(hasPartitionMark('x-partition'));
});

t.test('encoded forms: names of Pulsar`s records and URLs -> the same text', async (t) => {
  const name = parseTopicName('acme/plain/ünï cödé');
  t.equal(managedLedgerName(name), 'acme/plain/persistent/%C3%BCn%C3%AF+c%C3%B6d%C3%A9');
  t.equal(topicUrlPath(name), 'persistent/acme/plain/%C3%BCn%C3%AF%20c%C3%B6d%C3%A9');
  t.equal(formEncode("a.b-c*d_e!'()~+/%"), 'a.b-c*d_e%21%27%28%29%7E%2B%2F%25');
  t.equal(formDecode('%zz'), undefined);
  t.equal(topicNameOfManagedLedger('acme/plain/persistent/%C3%BC+x')?.full, 'persistent://acme/plain/ü x');
  for (const path of ['acme/plain/persistent', 'a/b/other/c', 'a/b/persistent/%zz', 'a/b/persistent/x/y', 'a/b/persistent/']) {
    t.equal(topicNameOfManagedLedger(path), undefined, path);
  }
});

t.test('topic name: any local name -> the same after parsing, and after the way through a metadata path', async () => {
  const local = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' }).filter((text) => !/[/\0]/.test(text) && text !== '.' && text !== '..');
  fc.assert(
    fc.property(local, (text) => {
      const name = topicNameOf('persistent', 'a', 'b', text);
      const path = managedLedgerName(name);
      return parseTopicName(name.full).local === text && topicNameOfManagedLedger(path)?.local === text && /^[\w.*+%/-]+$/.test(path);
    }),
  );
});

t.test('topic hash: CRC-32 of the full name -> known values', async (t) => {
  // From Python: zlib.crc32(name.encode()).
  t.equal(topicHash(parseTopicName('orders')), 0xb135b9dc);
  t.equal(topicHash(parseTopicName('acme/plain/ünï')), 0xb0002fb0);
});
