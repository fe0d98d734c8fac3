import fc from 'fast-check';
import t from 'tap';
import { Latencies } from './latencies.js';

t.test('latencies: nothing added -> zeros', async (t) => {
  t.same(new Latencies().summary(), { p50Ms: 0, p99Ms: 0, p999Ms: 0, maxMs: 0 });
});

t.test('latencies: any values -> each quantile is within 1 % (and a microsecond) of the exact one', async () => {
  const values = fc.array(fc.double({ min: 0, max: 100_000, noNaN: true }), { minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(values, fc.constantFrom(0.01, 0.5, 0.9, 0.99, 1), (ms, share) => {
      const latencies = new Latencies();
      for (const value of ms) latencies.add(value);
      const exact = [...ms].sort((a, b) => a - b)[Math.ceil(ms.length * share) - 1] as number;
      return Math.abs(latencies.quantileMs(share) - exact) <= exact * 0.01 + 0.001;
    }),
  );
});

t.test('latencies: cleared -> as new', async (t) => {
  const latencies = new Latencies();
  latencies.add(7);
  latencies.clear();
  t.equal(latencies.count, 0);
  latencies.add(1);
  t.equal(latencies.summary().maxMs, 1);
});
