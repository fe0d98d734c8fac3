import t from 'tap';
import { Permits } from './permits.js';

t.test('permits: window → its size minus what is held; permits mean nothing', async (t) => {
  const permits = new Permits({ kind: 'window', size: 2 });
  permits.take();
  permits.add(5);
  t.equal(permits.available, 1);
  permits.take();
  t.throws(() => permits.take(), /room/);
  permits.release();
  permits.release();
  t.equal(permits.available, 2);
  t.throws(() => permits.release(), /taken slot/);
});

t.test('permits: credit → what was permitted; releasing gives none back; only positive numbers count', async (t) => {
  const permits = new Permits({ kind: 'credit' });
  t.equal(permits.available, 0);
  permits.add(3);
  for (const count of [0, -2, Number.NaN]) permits.add(count);
  permits.take();
  permits.release();
  t.equal(permits.available, 2);
  permits.add(Number.MAX_SAFE_INTEGER);
  permits.add(Number.MAX_SAFE_INTEGER);
  t.equal(permits.available, Number.MAX_SAFE_INTEGER);
});
