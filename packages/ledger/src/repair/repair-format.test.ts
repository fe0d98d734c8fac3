import fc from 'fast-check';
import t from 'tap';
import { decodeCheckTime, decodeDelaySeconds, decodeMark, encodeCheckTime, encodeMark, repairLayout } from './repair-format.js';

// As Apache BookKeeper 4.17 wrote them.
const bookkeeper = {
  layout: '747970653a20224241534943220a76657273696f6e3a20310a',
  checkTime: '0880debbc2a234',
  mark: '7265706c6963613a20223132372e302e302e313a3133313831220a6374696d653a20313739353937323730363233390a',
  markOfTwo:
    '7265706c6963613a20223132372e302e302e313a3133313831220a7265706c6963613a20223132372e302e302e313a3133313833220a6374696d653a20313739353937323733313933310a',
};

t.test('formats of repair: the same values → the bytes BookKeeper writes', async (t) => {
  t.equal(Buffer.from(repairLayout).toString('hex'), bookkeeper.layout);
  t.equal(encodeCheckTime(1_795_972_591_360).toString('hex').slice(0, 2), '08');
  const checkTime = decodeCheckTime(Buffer.from(bookkeeper.checkTime, 'hex')) as number;
  t.equal(encodeCheckTime(checkTime).toString('hex'), bookkeeper.checkTime);
  t.equal(new Date(checkTime).getUTCFullYear(), 2026);
  const one = { replicas: ['127.0.0.1:13181'], markedAtMs: 1_795_972_706_239, isDamaged: false };
  t.equal(encodeMark(one).toString('hex'), bookkeeper.mark);
  const two = { replicas: ['127.0.0.1:13181', '127.0.0.1:13183'], markedAtMs: 1_795_972_731_931, isDamaged: false };
  t.equal(encodeMark(two).toString('hex'), bookkeeper.markOfTwo);
  t.same(decodeMark(Buffer.from(bookkeeper.markOfTwo, 'hex')), two);
});

t.test('formats of repair: a mark of damage → a comment that BookKeeper skips', async (t) => {
  const mark = { replicas: ['b1'], markedAtMs: 7, isDamaged: true };
  t.equal(encodeMark(mark).toString(), 'replica: "b1"\nctime: 7\n# damaged\n');
  t.same(decodeMark(encodeMark(mark)), mark);
});

t.test('formats of repair: a mark of bad placement → a comment; it names nobody, and then misses nobody', async (t) => {
  const mark = { replicas: [], markedAtMs: 7, isDamaged: false, isMisplaced: true };
  t.equal(encodeMark(mark).toString(), 'ctime: 7\n# misplaced\n');
  t.same(decodeMark(encodeMark(mark)), mark);
});

t.test('formats of repair: a mark that cannot be read → anything may be missing, nothing is overlooked', async (t) => {
  for (const text of ['replica: "b1', 'replica: {', '\u0000\u0001', 'ctime: "x"']) {
    t.same(decodeMark(Buffer.from(text)), { replicas: undefined, markedAtMs: undefined, isDamaged: true }, JSON.stringify(text));
  }
  t.equal(decodeMark(Buffer.from('')).replicas, undefined, 'empty');
});

t.test('formats of repair: any value → itself again', async () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1 }), fc.nat(), fc.boolean(), (replicas, markedAtMs, isDamaged) => {
      const wellFormed = replicas.map((replica) => Buffer.from(replica).toString());
      const mark = decodeMark(encodeMark({ replicas: wellFormed, markedAtMs, isDamaged }));
      return mark.markedAtMs === markedAtMs && mark.isDamaged === isDamaged && JSON.stringify(mark.replicas) === JSON.stringify(wellFormed);
    }),
  );
  fc.assert(fc.property(fc.maxSafeNat(), (ms) => decodeCheckTime(encodeCheckTime(ms)) === ms));
});

t.test('formats of repair: times and delays that are none → undefined', async (t) => {
  for (const hex of ['', '08', '0880', '1000', '08ffffffffffffffffff01', '080100']) t.equal(decodeCheckTime(Buffer.from(hex, 'hex')), undefined, hex);
  for (const [text, seconds] of [
    ['0', 0],
    ['300', 300],
    ['', undefined],
    ['-1', undefined],
    ['soon', undefined],
  ] as const)
    t.equal(decodeDelaySeconds(Buffer.from(text)), seconds, text);
});
