import { bookieId, encodeBookieServiceInfo } from '@daybook/proto';
import t from 'tap';
import { decodeBookieRecord, encodeBookieRecord, inProcessBookie } from './bookie-record.js';

const id = bookieId('b1');
const hex = (text: string) => Buffer.from(text).toString('hex');

t.test('bookie record: with and without addresses -> read back', async (tt) => {
  const cases = [
    { bookieId: id, address: '10.0.0.1:3181', httpAddress: '10.0.0.1:8000', incarnation: 'i1', isWritable: true },
    { bookieId: id, address: '[::1]:3181', httpAddress: '', incarnation: 'i2', isWritable: false },
    inProcessBookie(id, 'i3'),
  ];
  for (const bookie of cases) tt.strictSame(decodeBookieRecord(id, encodeBookieRecord(bookie), bookie.isWritable), bookie);
});

t.test("bookie record: bytes -> BookKeeper's format, its HTTP endpoint, our own for entries", async (tt) => {
  const bytes = encodeBookieRecord({ bookieId: id, address: 'h:1', httpAddress: 'h:2', incarnation: 'i', isWritable: true });
  const expected = [
    ['32', '17', '0a0a', hex('httpserver'), '1002', '1a01', hex('h'), '2204', hex('http')],
    ['32', '23', '0a0e', hex('daybook-bookie'), '1001', '1a01', hex('h'), '220c', hex('daybook-grpc')],
    ['3a', '18', '0a13', hex('daybook.incarnation'), '1201', hex('i')],
  ];
  tt.equal(bytes.toString('hex'), expected.flat().join(''));
});

t.test("bookie record: one of BookKeeper's own, or an empty one -> not ours", async (tt) => {
  const theirs = Buffer.from(
    '32210a0a6874747073657276657210d18c011a093132372e302e302e3122046874747032220a06626f6f6b696510fd661a093132372e302e302e31220a626f6f6b69652d727063',
    'hex',
  );
  tt.equal(decodeBookieRecord(id, theirs, true), undefined);
  tt.equal(decodeBookieRecord(id, Buffer.alloc(0), true), undefined);
  tt.equal(decodeBookieRecord(id, encodeBookieServiceInfo({ endpoints: [], properties: new Map() }), true), undefined);
});

t.test('bookie record: damaged -> PROTO_SERVICE_INFO_MALFORMED', async (tt) => {
  tt.throws(() => decodeBookieRecord(id, Buffer.from('32ff', 'hex'), true), { code: 'PROTO_SERVICE_INFO_MALFORMED' });
});
