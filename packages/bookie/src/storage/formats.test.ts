import { crc32c } from '@daybook/runtime';
import fc from 'fast-check';
import t from 'tap';
import { entryOf } from '../testing/batches.js';
import { decodeCheckpoint, encodeCheckpoint } from './checkpoint-format.js';
import { decodeLogHeader, decodeLogRecord, encodeLogHeader, encodeLogRecord } from './entry-log-format.js';
import { decodeFrame, decodeIndexHeader, decodeTrailer, encodeFrame, encodeIndexHeader, encodeTrailer, type Run } from './index-format.js';
import { blockAt, buildIndexTable, decodeBlock, decodeLedgerTable, findBlock, findRun, visitRuns } from './index-table.js';
import { decodeMapHeader, decodeMapTrailer, encodeMapHeader, encodeMapTrailer } from './ledger-map-format.js';
import { decodeLedgerStates, encodeLedgerStates } from './ledger-state-format.js';
import { OpenIndex } from './open-index.js';

const zeros = (bytes: number): string => '00'.repeat(bytes);
const run: Run = { ledgerId: 3, firstEntryId: 10, count: 2, positions: Uint32Array.of(64, 164, 300), at: 0 };
const frameInfo = { logId: 5, logBytesBefore: 64, logBytesAfter: 300 };
const trailer = { logId: 5, blocks: { offset: 1, bytes: 28, crc: 2 }, ledgers: { offset: 29, bytes: 40, crc: 3 }, logBytes: 300, holeBytes: 0 };
const checkpoint = {
  number: 7,
  marks: [
    { fileId: 2, offset: 1024 },
    { fileId: 3, offset: 512 },
  ],
  nextLogId: 9,
  logs: [
    { logId: 5, logBytes: 300, indexBytes: 400, isSealed: true, isCompacted: true },
    { logId: 8, logBytes: 64, indexBytes: 64, isSealed: false, isCompacted: false },
  ],
  statesNumber: 6,
};
const states = [
  { ledgerId: 1, isFenced: false, masterKey: Buffer.alloc(20, 1) },
  { ledgerId: 2 ** 40, isFenced: true, masterKey: Buffer.alloc(20, 2) },
];

const deleted = [{ ledgerId: 4, deletedAtMs: 2 ** 41 }];
const stateSource = { count: states.length, all: () => states, deletedCount: deleted.length, allDeleted: () => deleted };
const explicitLacs = [{ ledgerId: 1, explicitLac: Buffer.alloc(20, 7) }];
const lacSource = { count: 1, all: () => explicitLacs };

function logRecord(): Buffer {
  const source = entryOf(4, 6, 8);
  const target = Buffer.alloc(200);
  return target.subarray(0, encodeLogRecord(target, 0, { source, start: 0, end: source.length }));
}

/** Each format: its bytes without the checksum, where that is, and a decoder that answers undefined for anything but the very bytes. */
const formats = [
  {
    name: 'entry log header',
    bytes: encodeLogHeader(5),
    golden: `44424c47000000010000000000000005${zeros(44)}`,
    crcAt: 60,
    decode: (bytes: Buffer) => decodeLogHeader(bytes, 'x'),
  },
  {
    name: 'index header',
    bytes: encodeIndexHeader(5),
    golden: `44424958000000010000000000000005${zeros(44)}`,
    crcAt: 60,
    decode: (bytes: Buffer) => decodeIndexHeader(bytes, 'x'),
  },
  {
    name: 'index frame',
    bytes: encodeFrame(frameInfo, [run]),
    golden: `444249460000004400000001${'0000000000000005'}000000400000012c${'0000000000000003000000000000000a0000000200000000'}00000040000000a40000012c`,
    crcAt: 0,
    decode: (bytes: Buffer) => decodeFrame(bytes, 0, 5),
  },
  {
    name: 'index trailer',
    bytes: encodeTrailer(trailer),
    golden: `44424954000000010000000000000005000000010000001c000000020000001d0000002800000003000000000000012c${zeros(12)}`,
    crcAt: 60,
    decode: (bytes: Buffer) => decodeTrailer(bytes, 5),
  },
  {
    name: 'checkpoint',
    bytes: encodeCheckpoint(checkpoint),
    golden:
      '44424c4d000000020000000000000007000000000000000200000000000004000000000000000009000000020000000' +
      '10000000000000005000000000000012c000000000000019000000000000000030000000000000008000000000000004000000000000000400000000000000000000000000000000300000000000002000000000000000006',
    crcAt: 136,
    decode: (bytes: Buffer) => decodeCheckpoint(bytes, 'x'),
  },
  {
    name: 'ledger states',
    bytes: encodeLedgerStates(7, stateSource, lacSource),
    golden:
      `44424c5300000003000000000000000700000003${'00000001'}${zeros(8)}000000000000000100000000${'01'.repeat(20)}000001000000000000000001${'02'.repeat(20)}` +
      `0000000000000004000000030000020000000000${zeros(12)}000000000000000100000014${'07'.repeat(20)}${zeros(16)}`,
    crcAt: 176,
    decode: (bytes: Buffer) => decodeLedgerStates(bytes, 'x'),
  },
  {
    name: 'ledger map header',
    bytes: encodeMapHeader(5),
    golden: `44424d50000000010000000000000005${zeros(44)}`,
    crcAt: 60,
    decode: (bytes: Buffer) => decodeMapHeader(bytes, 'x'),
  },
  {
    name: 'ledger map trailer',
    bytes: encodeMapTrailer({ mapId: 5, rowsCount: 300, logsCount: 2, tablesCrc: 7 }),
    golden: `44424d54000000010000000000000005000000000000012c0000000200000007${zeros(28)}`,
    crcAt: 60,
    decode: (bytes: Buffer) => decodeMapTrailer(bytes),
  },
  {
    name: 'entry log record',
    bytes: logRecord(),
    golden: '0000002c000000000000000400000000000000060000000000000005000000000000003808563f8d342f362f302e342f',
    crcAt: 0,
    decode: (bytes: Buffer) => decodeLogRecord(bytes, 4, 6),
  },
];

for (const { name, bytes, golden, crcAt, decode } of formats) {
  t.test(`${name}: golden bytes → stay as they are and readable`, async (t) => {
    const content = crcAt === 0 ? bytes.subarray(4) : bytes.subarray(0, crcAt);
    t.equal(content.toString('hex'), golden);
    t.equal(bytes.readUInt32BE(crcAt), crc32c(content));
    t.not(decode(bytes), undefined);
  });

  t.test(`${name}: cut off at any length, or any byte changed → not read`, async (t) => {
    for (let length = 0; length < bytes.length; length++) t.equal(decode(bytes.subarray(0, length)), undefined, `${length} bytes`);
    for (let at = 0; at < bytes.length; at++) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] as number) ^ 0x10;
      t.equal(decode(damaged), undefined, `byte ${at}`);
    }
  });
}

t.test('formats: another version, intact → refused by name', async (t) => {
  for (const { name, bytes, crcAt, decode } of formats.filter(({ name }) => /header|checkpoint|states/.test(name))) {
    const next = Buffer.from(bytes);
    next.writeUInt32BE(9, 4);
    next.writeUInt32BE(crc32c(next.subarray(0, crcAt)), crcAt);
    t.throws(() => decode(next), { code: 'BOOKIE_FORMAT_VERSION' }, name);
  }
});

t.test('checkpoint: version 1, of one journal → still read', async (t) => {
  const content = Buffer.from(
    '44424c4d000000010000000000000007000000000000000200000000000004000000000000000009000000010000000' +
      '00000000000000005000000000000012c00000000000001900000000000000001',
    'hex',
  );
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32c(content));
  t.strictSame(decodeCheckpoint(Buffer.concat([content, crc]), 'x'), {
    number: 7,
    marks: [{ fileId: 2, offset: 1024 }],
    nextLogId: 9,
    logs: [{ logId: 5, logBytes: 300, indexBytes: 400, isSealed: true, isCompacted: false }],
    statesNumber: 0,
  });
});

t.test('ledger states: version 1, without deleted ledgers → still read', async (t) => {
  const content = Buffer.from(
    `44424c5300000001000000000000000700000002${zeros(12)}000000000000000100000000${'01'.repeat(20)}000001000000000000000001${'02'.repeat(20)}`,
    'hex',
  );
  const crc = Buffer.alloc(4);
  crc.writeUInt32BE(crc32c(content));
  t.strictSame(decodeLedgerStates(Buffer.concat([content, crc]), 'x'), { checkpointNumber: 7, states, deleted: [], explicitLacs: [] });
});

t.test('checkpoint, ledger states, frame: round trip', async (t) => {
  t.strictSame(decodeCheckpoint(encodeCheckpoint(checkpoint), 'x'), checkpoint);
  t.strictSame(decodeLedgerStates(encodeLedgerStates(7, stateSource, lacSource), 'x'), { checkpointNumber: 7, states, deleted, explicitLacs });
  t.strictSame(decodeFrame(encodeFrame(frameInfo, [run, run]), 0, 5), { info: frameInfo, runs: [run, run], end: 32 + 72 });
  t.equal(decodeLogRecord(logRecord(), 4, 7), undefined, 'another entry');
  t.equal(decodeLogRecord(logRecord(), 5, 6), undefined, 'another ledger');
});

const anyRuns = fc.array(fc.record({ ledgerId: fc.nat(5), gap: fc.nat(3), count: fc.integer({ min: 1, max: 3000 }), isAgain: fc.boolean() }), {
  minLength: 1,
  maxLength: 20,
});

t.test('index table: any runs, also of entries written again → each entry is found at its newest place, nothing else is', async () => {
  fc.assert(
    fc.property(anyRuns, (steps) => {
      const index = new OpenIndex();
      const places = new Map<string, { position: number; end: number }>();
      const next = new Map<number, number>();
      let position = 64;
      for (const { ledgerId, gap, count, isAgain } of steps) {
        const reached = next.get(ledgerId) ?? 0;
        const firstEntryId = isAgain ? Math.max(0, reached - 2) : reached + gap;
        next.set(ledgerId, Math.max(reached, firstEntryId + count));
        const positions = new Uint32Array(count + 1);
        positions[0] = position;
        for (let i = 0; i < count; i++) {
          const end = position + 50 + (i % 7);
          places.set(`${ledgerId}/${firstEntryId + i}`, { position, end });
          positions[i + 1] = position = end;
        }
        index.add({ ledgerId, firstEntryId, count, positions, at: 0 });
      }
      const offset = 1000;
      const { bytes, ledgers } = buildIndexTable(index, 5, { offset, logBytes: position });
      const parts = decodeTrailer(bytes.subarray(bytes.length - 64), 5);
      if (parts === undefined) return false;
      const part = (range: { offset: number; bytes: number; crc: number }): Buffer => {
        const content = bytes.subarray(range.offset - offset, range.offset - offset + range.bytes);
        if (crc32c(content) !== range.crc) throw new Error('a wrong checksum');
        return content;
      };
      const table = part(parts.blocks);
      const decoded = new Map<number, Uint32Array>();
      const block = (i: number): Uint32Array => {
        if (!decoded.has(i)) decoded.set(i, decodeBlock(Buffer.from(part(blockAt(table, i)!))));
        return decoded.get(i)!;
      };
      for (const [key, { position: expected, end }] of places) {
        const [ledgerId, entryId] = key.split('/').map(Number) as [number, number];
        const place = findBlock(table, ledgerId, entryId);
        const found = place && findRun(block(place.index), ledgerId, entryId);
        if (found === undefined) return false;
        const at = found.at + entryId - found.firstEntryId;
        if (found.positions[at] !== expected || found.positions[at + 1] !== end) return false;
      }
      const listed: string[] = [];
      for (let i = 0; blockAt(table, i) !== undefined; i++) {
        for (let ledgerId = 0; ledgerId < 6; ledgerId++) {
          visitRuns(block(i), ledgerId, (first, count) => {
            for (let id = first; id < first + count; id++) listed.push(`${ledgerId}/${id}`);
          });
        }
      }
      const rows = decodeLedgerTable(part(parts.ledgers));
      const counted = rows.reduce((sum, row) => sum + row.entriesCount, 0);
      return (
        listed.length === places.size &&
        new Set(listed).size === places.size &&
        counted === places.size &&
        JSON.stringify(rows) === JSON.stringify(ledgers) &&
        findRun(block(0), 99, 0) === undefined
      );
    }),
    { numRuns: 60 },
  );
});

t.test('checkpoint: bytes of a log that were given up → above its flags, where programs before did not look', (t) => {
  const logs = [{ logId: 5, logBytes: 300, indexBytes: 400, isSealed: true, isCompacted: false, givenUpBytes: 2 ** 32 - 1 }];
  const bytes = encodeCheckpoint({ ...checkpoint, logs });
  t.equal(bytes.subarray(72, 80).toString('hex'), '0000ffffffff0001');
  t.strictSame(decodeCheckpoint(bytes, 'x')?.logs, logs);
  t.end();
});
