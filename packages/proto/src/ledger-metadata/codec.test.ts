import fc from 'fast-check';
import t from 'tap';
import { protoErrors } from '../errors.js';
import { checkTruncations, codeOf, fixture, hex } from '../fixtures.test.support.js';
import type { BookieId, EntryId } from '../ids.js';
import type { DigestType, LedgerMetadata, LedgerState } from '../ledger-metadata.js';
import { decodeLedgerMetadata, encodeLedgerMetadata } from './codec.js';

interface Row {
  name: string;
  version: number;
  e: number;
  qw: number;
  qa: number;
  state: LedgerState;
  length: number;
  last: number;
  digest?: DigestType;
  password?: string;
  segments: [number, ...string[]][];
  custom: Record<string, string>;
  cToken?: string;
  ctime?: string;
  hex: string;
}
const { records } = fixture<{ records: Row[] }>('ledger-metadata.json');

t.test('ledger metadata: records of BookKeeper in all three formats -> their fields, and the same bytes again', async (t) => {
  for (const row of records) {
    const bytes = hex(row.hex);
    const metadata = decodeLedgerMetadata(bytes);
    t.match(
      metadata,
      {
        formatVersion: row.version,
        ensembleSize: row.e,
        writeQuorumSize: row.qw,
        ackQuorumSize: row.qa,
        state: row.state,
        length: row.length,
        lastEntryId: row.last,
        creationToken: BigInt(row.cToken ?? 0),
      },
      row.name,
    );
    t.same(
      metadata.segments.map(({ firstEntryId, ensemble }) => [firstEntryId, ...ensemble]),
      row.segments,
    );
    t.equal(metadata.createdAtMs, row.ctime === undefined ? undefined : Number(row.ctime));
    t.same(Object.fromEntries([...metadata.customMetadata].map(([key, value]) => [key, Buffer.from(value).toString('base64')])), row.custom);
    if (row.version === 1) t.equal(metadata.namesNoDigest, true);
    else t.same([metadata.digestType, Buffer.from(metadata.password).toString('base64')], [row.digest, row.password]);
    t.equal(encodeLedgerMetadata(metadata).toString('hex'), row.hex, `${row.name}: the same bytes`);
    metadata.password.fill(0);
    t.same(bytes, hex(row.hex), 'no view of the input is kept');
  }
});

const bookie = fc.stringMatching(/^[a-z0-9.:-]{1,20}$/).filter((text) => !['readonly', '.', '..'].includes(text));

const anyMetadata: fc.Arbitrary<LedgerMetadata> = fc
  .tuple(
    fc.constantFrom(2 as const, 3 as const),
    fc.integer({ min: 1, max: 5 }),
    fc.nat(4),
    fc.nat(4),
    fc.constantFrom<LedgerState>('OPEN', 'IN_RECOVERY', 'CLOSED'),
  )
  .chain(([formatVersion, ensembleSize, a, b, state]) => {
    const writeQuorumSize = 1 + (a % ensembleSize);
    const ensemble = fc.array(bookie, { minLength: ensembleSize, maxLength: ensembleSize });
    return fc.record({
      formatVersion: fc.constant(formatVersion),
      ensembleSize: fc.constant(ensembleSize),
      writeQuorumSize: fc.constant(writeQuorumSize),
      ackQuorumSize: fc.constant(1 + (b % writeQuorumSize)),
      state: fc.constant(state),
      length: fc.maxSafeNat(),
      lastEntryId: fc.maxSafeNat().map((id) => (id - 1) as EntryId),
      segments: fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 40 }), ensemble), { minLength: 1, maxLength: 4 }).map((list) => {
        let first = 0;
        return list.map(([gap, members], index) => {
          first = index === 0 ? 0 : first + gap;
          return { firstEntryId: first as EntryId, ensemble: members as BookieId[] };
        });
      }),
      digestType: fc.constantFrom<DigestType>('CRC32', 'CRC32C', 'HMAC', 'DUMMY'),
      password: fc.uint8Array({ maxLength: 20 }),
      createdAtMs: fc.option(fc.maxSafeNat(), { nil: undefined }),
      customMetadata: fc
        .array(fc.tuple(fc.string({ maxLength: 9, unit: 'grapheme' }), fc.uint8Array({ maxLength: 9 })))
        .map((pairs) => new Map(pairs)),
      creationToken: formatVersion === 2 ? fc.constant(0n) : fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    });
  });

t.test('ledger metadata: any record in format 2 or 3 -> the same after a round trip', async (t) => {
  fc.assert(fc.property(anyMetadata, (metadata) => t.same(decodeLedgerMetadata(encodeLedgerMetadata(metadata)), metadata)));
});

t.test('ledger metadata: format 1 -> says what it can, refuses the rest', async (t) => {
  const closed = decodeLedgerMetadata(hex(records.find((row) => row.name === 'format-1-closed')?.hex as string));
  const inRecovery = { ...closed, state: 'IN_RECOVERY' as const, lastEntryId: -1 as EntryId, length: 0 };
  t.match(encodeLedgerMetadata(inRecovery).toString(), /\n-102\tCLOSED$/);
  t.same(decodeLedgerMetadata(encodeLedgerMetadata(inRecovery)), inRecovery);
  t.equal(
    codeOf(() => encodeLedgerMetadata({ ...closed, ackQuorumSize: 2 })),
    'PROTO_LEDGER_METADATA_UNWRITABLE',
  );
  t.equal(
    codeOf(() => encodeLedgerMetadata({ ...closed, customMetadata: new Map([['a', new Uint8Array()]]) })),
    'PROTO_LEDGER_METADATA_UNWRITABLE',
  );
});

t.test('ledger metadata: cut at every length -> a coded error, or in the line formats a record that lacks its end', async (t) => {
  for (const row of records) {
    const whole = decodeLedgerMetadata(hex(row.hex));
    checkTruncations(t, hex(row.hex), decodeLedgerMetadata, protoErrors.LEDGER_METADATA_MALFORMED, (value) => {
      // Only text has no mark of its end; what was read must be a first part of the whole.
      return row.version !== 3 && value.ensembleSize === whole.ensembleSize && value.segments.length <= whole.segments.length;
    });
  }
});

t.test('ledger metadata: an illegal record -> a coded error that says what is wrong', async (t) => {
  const text = (change: (lines: string) => string): Buffer => {
    const lines =
      'quorumSize: 2\nensembleSize: 2\nlength: 0\nstate: OPEN\nsegment {\n  ensembleMember: "a:1"\n  ensembleMember: "b:1"\n  firstEntryId: 0\n}\ndigestType: CRC32C\npassword: ""\nackQuorumSize: 2\n';
    return Buffer.from(`BookieMetadataFormatVersion\t2\n${change(lines)}`);
  };
  t.equal(decodeLedgerMetadata(text((lines) => lines)).lastEntryId, -1);
  const cases: [string, Buffer][] = [
    ['2 bookies, not 3', text((lines) => lines.replace('ensembleSize: 2', 'ensembleSize: 3'))],
    ['begins at entry 1', text((lines) => lines.replace('firstEntryId: 0', 'firstEntryId: 1'))],
    ['CLOSED without', text((lines) => lines.replace('OPEN', 'CLOSED'))],
    ['Qa 3', text((lines) => lines.replace('ackQuorumSize: 2', 'ackQuorumSize: 3'))],
    ['Qa 0', text((lines) => lines.replace('ackQuorumSize: 2', 'ackQuorumSize: 0'))],
    ['Qw 3', text((lines) => lines.replace('quorumSize: 2', 'quorumSize: 3'))],
    ['segment 1 begins', text((lines) => `${lines}segment {\n ensembleMember: "a:1"\n ensembleMember: "b:1"\n firstEntryId: 0\n}\n`)],
    ['no segment', text((lines) => lines.replace(/segment \{[^}]*\}\n/, ''))],
    ['no bookie id', text((lines) => lines.replace('a:1', 'a/1'))],
    ['required field', text((lines) => lines.replace('state: OPEN\n', ''))],
    ['state LOST', text((lines) => lines.replace('OPEN', 'LOST'))],
    ['unknown field', text((lines) => `${lines}colour: 3\n`)],
    ['format version 4', Buffer.from('BookieMetadataFormatVersion\t4\n')],
    ['no version line', Buffer.from('3\n3\n0\n0\ta:1\n')],
    ['no version line', Buffer.from('')],
    ['not 200', Buffer.concat([Buffer.from('BookieMetadataFormatVersion\t3\n'), Buffer.from([0xc8, 0x01])])],
  ];
  for (const [detail, bytes] of cases)
    t.throws(() => decodeLedgerMetadata(bytes), { code: 'PROTO_LEDGER_METADATA_MALFORMED', message: new RegExp(detail) }, detail);
});

t.test('ledger metadata: any bytes behind a version line -> a coded error or a record, nothing else', async () => {
  fc.assert(
    fc.property(
      fc.constantFrom(1, 2, 3),
      fc.oneof(
        fc.uint8Array({ maxLength: 60 }),
        fc.string({ maxLength: 60 }).map((text) => Buffer.from(text)),
      ),
      (version, body) => {
        const code = codeOf(() => decodeLedgerMetadata(Buffer.concat([Buffer.from(`BookieMetadataFormatVersion\t${version}\n`), body])));
        return code === undefined || code === 'PROTO_LEDGER_METADATA_MALFORMED';
      },
    ),
    { numRuns: 500 },
  );
});
