import t from 'tap';
import { RateWindow } from './rates.js';

t.test('rates: steady traffic → its rate; after a minute of silence → 0', async (t) => {
  const rate = new RateWindow();
  t.same(rate.read(123), { countPerSecond: 0, bytesPerSecond: 0 });
  let nowMs = 5_000;
  for (; nowMs < 125_000; nowMs += 100) rate.add(nowMs, 2, 200);
  const { countPerSecond, bytesPerSecond } = rate.read(nowMs);
  t.ok(Math.abs(countPerSecond - 20) < 0.5, `${countPerSecond}`);
  t.ok(Math.abs(bytesPerSecond - 2000) < 50, `${bytesPerSecond}`);
  t.ok(rate.read(nowMs + 30_000).countPerSecond < 12);
  t.equal(rate.read(nowMs + 71_000).countPerSecond, 0);
  t.equal(rate.read(nowMs + 1_000_000_000).countPerSecond, 0);
});

t.test('rates: young → the average since it began, over a second at least', async (t) => {
  const rate = new RateWindow();
  rate.add(50_000, 10, 100);
  t.equal(rate.read(50_001).countPerSecond, 10);
  t.equal(rate.read(55_000).countPerSecond, 2);
});
