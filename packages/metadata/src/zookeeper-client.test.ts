import fc from 'fast-check';
import t from 'tap';
import { FrameCutter } from './zookeeper-client.js';

const frame = (body: Uint8Array) => {
  const out = Buffer.alloc(4 + body.length);
  out.writeInt32BE(body.length, 0);
  out.set(body, 4);
  return out;
};

t.test('ZooKeeper frames: cut in any chunks -> come out whole and in order', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
      (bodies, cuts) => {
        const all = Buffer.concat(bodies.map(frame));
        const cutter = new FrameCutter();
        const found: string[] = [];
        for (let at = 0, i = 0; at < all.length; i++) {
          const bytes = cuts[i % cuts.length] as number;
          for (const each of cutter.push(all.subarray(at, at + bytes))) found.push(each.toString('hex'));
          at += bytes;
        }
        return JSON.stringify(found) === JSON.stringify(bodies.map((body) => frame(body).toString('hex')));
      },
    ),
  );
});

t.test('ZooKeeper frames: a length that cannot be -> RangeError, nothing is collected', async (tt) => {
  tt.throws(() => new FrameCutter().push(Buffer.from('HTTP/1.1 200 OK')), RangeError);
  tt.throws(() => new FrameCutter().push(Buffer.from('ffffffff', 'hex')), RangeError);
});
