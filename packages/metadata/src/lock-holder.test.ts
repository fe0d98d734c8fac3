import fc from 'fast-check';
import t from 'tap';
import { decodeHolder, encodeHolder } from './lock-holder.js';

t.test('holder of a lock: the same names → the bytes that Apache BookKeeper 4.17 writes, and back', async (t) => {
  for (const [name, hex] of [
    ['127.0.0.1:13180', '626f6f6b696549643a20223132372e302e302e313a3133313830220a'],
    ['localhost', '626f6f6b696549643a20226c6f63616c686f7374220a'],
  ] as const) {
    t.equal(encodeHolder(name).toString('hex'), hex);
    t.equal(decodeHolder(Buffer.from(hex, 'hex')), name);
  }
});

t.test('holder of a lock: any name → itself again; what cannot be read → undefined', async (t) => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const name = Buffer.from(text).toString();
      return decodeHolder(encodeHolder(name)) === name;
    }),
  );
  for (const text of ['', 'bookieId: "x', 'bookieId: {', '\u0000\u0001', 'ctime: 1'])
    t.equal(decodeHolder(Buffer.from(text)), undefined, JSON.stringify(text));
});
