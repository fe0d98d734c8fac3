import t from 'tap';
import { closeCodes, closeReason } from './close-codes.js';

t.test('close codes: all may be sent', async (t) => {
  for (const [name, code] of Object.entries(closeCodes)) {
    t.ok((code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999), `${name} ${code}`);
  }
});

t.test('close reason: longer than 123 bytes → cut between characters', async (t) => {
  t.equal(closeReason('short'), 'short');
  for (const text of ['ü'.repeat(100), '😀'.repeat(50), 'x'.repeat(200)]) {
    const cut = closeReason(text);
    t.ok(Buffer.byteLength(cut) <= 123 && Buffer.byteLength(cut) > 115, cut);
    t.ok(text.startsWith(cut.slice(0, -1)));
    t.notMatch(Buffer.from(cut).toString(), /\ufffd/);
  }
});
