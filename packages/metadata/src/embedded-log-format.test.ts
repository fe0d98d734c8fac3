import fc from 'fast-check';
import t from 'tap';
import {
  decodeRecord,
  encodeHeader,
  encodeRecord,
  encodeSnapshot,
  hasRecordAfter,
  headerBytes,
  headerFault,
  headerGeneration,
  type StoredChange,
} from './embedded-log-format.js';
import { MetadataTree } from './metadata-tree.js';

const change: fc.Arbitrary<StoredChange> = fc.oneof(
  fc.record({
    kind: fc.constant('put' as const),
    path: fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !/\p{Surrogate}/u.test(text)),
    version: fc.nat(),
    value: fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
  }),
  fc.record({ kind: fc.constant('delete' as const), path: fc.string({ maxLength: 30 }) }),
  fc.record({ kind: fc.constant('sequence' as const), path: fc.string({ maxLength: 30 }), next: fc.nat() }),
  fc.record({ kind: fc.constant('end' as const), valuesCount: fc.nat() }),
);
const place = { generation: 3, position: headerBytes, number: 1 };

t.test('embedded log format: golden bytes', async (tt) => {
  tt.equal(encodeHeader('log', 3).toString('hex'), '44424d4c000000010000000000000003c85a26f300000000');
  const record = encodeRecord(place, [
    { kind: 'put', path: '/a', version: 2, value: Buffer.from('xyz') },
    { kind: 'delete', path: '/b' },
    { kind: 'sequence', path: '/c', next: 9 },
    { kind: 'end', valuesCount: 1 },
  ]);
  tt.equal(
    record.toString('hex'),
    [
      '44424d52',
      '00000023',
      '0000000000000001',
      '79d68cc8',
      '010002000000020000000',
      '32f6178797a',
      '0200022f62',
      '030002000000092f63',
      '0400000001',
    ].join(''),
  );
});

t.test('embedded log format: any changes -> come back from their place, and from no other', async () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 10 }), (changes) => {
      const file = Buffer.concat([encodeHeader('log', 3), encodeRecord(place, changes)]);
      const decoded = decodeRecord(file, place);
      const shifted = Buffer.concat([file.subarray(0, headerBytes), Buffer.alloc(1), file.subarray(headerBytes)]);
      return (
        JSON.stringify(decoded?.changes) === JSON.stringify(changes) &&
        decoded?.end === file.length &&
        decodeRecord(file, { ...place, generation: 4 }) === undefined &&
        decodeRecord(file, { ...place, number: 2 }) === undefined &&
        decodeRecord(shifted, { ...place, position: headerBytes + 1 }) === undefined
      );
    }),
  );
});

t.test('embedded log format: cut or flipped anywhere -> no record', async (tt) => {
  const file = Buffer.concat([encodeHeader('log', 3), encodeRecord(place, [{ kind: 'put', path: '/a', version: 2, value: Buffer.from('xyz') }])]);
  for (let length = 0; length < file.length; length++) tt.equal(decodeRecord(file.subarray(0, length), place), undefined);
  for (let position = headerBytes; position < file.length; position++) {
    const damaged = Buffer.from(file);
    damaged[position] = (damaged[position] as number) ^ 1;
    tt.equal(decodeRecord(damaged, place), undefined);
  }
});

t.test('embedded log format: headers -> what is wrong is said', async (tt) => {
  const header = encodeHeader('snapshot', 7);
  tt.equal(headerFault(header, 'snapshot', 7), undefined);
  tt.equal(headerGeneration(header), 7);
  tt.match(headerFault(header, 'log'), /does not begin/);
  tt.match(headerFault(header, 'snapshot', 8), /generation 7/);
  tt.match(headerFault(header.subarray(0, 10), 'snapshot'), /10 bytes/);
  const damaged = Buffer.from(header);
  damaged[7] = 2;
  tt.match(headerFault(damaged, 'snapshot'), /checksum/);
});

t.test('embedded log format: good record behind a bad one -> found', async (tt) => {
  const first = encodeRecord(place, [{ kind: 'delete', path: '/a' }]);
  const second = encodeRecord({ ...place, position: headerBytes + first.length, number: 2 }, [{ kind: 'delete', path: '/b' }]);
  const file = Buffer.concat([encodeHeader('log', 3), first, second]);
  tt.equal(hasRecordAfter(file, 3, headerBytes), true);
  tt.equal(hasRecordAfter(file, 3, headerBytes + first.length), false);
  tt.equal(hasRecordAfter(file, 4, 0), false);
});

t.test('embedded log format: snapshot of many values -> several records, ephemeral values left out', async (tt) => {
  const tree = new MetadataTree();
  for (let i = 0; i < 30; i++) tree.put(`/large/${i}`, Buffer.alloc(100_000), 'absent', { owner: 1 }, []);
  tree.put('/live', Buffer.from('x'), 'absent', { ephemeral: true, owner: 1 }, []);
  const file = encodeSnapshot(tree, 1);
  let position = headerBytes;
  const paths: string[] = [];
  for (let number = 1; position < file.length; number++) {
    const record = decodeRecord(file, { generation: 1, position, number });
    if (record === undefined) return tt.fail(`no record ${number}`);
    position = record.end;
    for (const each of record.changes) if (each.kind === 'put') paths.push(each.path);
  }
  tt.equal(paths.length, 32);
  tt.strictSame(paths.slice(0, 3), ['/', '/large', '/large/0']);
  return undefined;
});
