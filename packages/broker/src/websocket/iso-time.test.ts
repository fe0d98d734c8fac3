import fc from 'fast-check';
import t from 'tap';
import { isoTime, parseOffsetTime } from './iso-time.js';

t.test('iso time: fractions → trailing zeros dropped', async (t) => {
  t.equal(isoTime(1_795_973_744_885), '2026-11-29T17:35:44.885Z');
  t.equal(isoTime(1_795_973_744_890), '2026-11-29T17:35:44.89Z');
  t.equal(isoTime(1_795_973_744_900), '2026-11-29T17:35:44.9Z');
  t.equal(isoTime(1_795_973_744_000), '2026-11-29T17:35:44Z');
});

t.test('iso time: any moment → what the calendar says', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 }), (ms) => {
      const expected = new Date(ms).toISOString().replace(/\.?0+Z$/, 'Z');
      const shortened = new Date(ms).getUTCMilliseconds() === 0 ? new Date(ms).toISOString().replace('.000Z', 'Z') : expected;
      t.equal(isoTime(ms), shortened);
      t.equal(parseOffsetTime(isoTime(ms)), ms);
    }),
  );
});

t.test('offset time: spellings → milliseconds; anything else → undefined', async (t) => {
  const table: [string, number | undefined][] = [
    ['2024-01-02T03:04:05.678+02:00', Date.UTC(2024, 0, 2, 1, 4, 5, 678)],
    ['2024-01-02T03:04:05.678912345Z', Date.UTC(2024, 0, 2, 3, 4, 5, 678)],
    ['2024-01-02T03:04Z', Date.UTC(2024, 0, 2, 3, 4)],
    ['2024-02-29T00:00:00-05:30', Date.UTC(2024, 1, 29, 5, 30)],
    ['1969-12-31T23:59:59.999Z', -1],
    ['2023-02-29T00:00:00Z', undefined],
    ['2024-13-01T00:00:00Z', undefined],
    ['2024-01-02T24:00:00Z', undefined],
    ['2024-01-02T03:04:05', undefined],
    ['2024-01-02T03:04:05+2', undefined],
    ['2024-01-02T03:04:05+19:00', undefined],
    ['2024-01-02 03:04:05Z', undefined],
    ['yesterday', undefined],
    ['', undefined],
    ['1704164645678', undefined],
  ];
  for (const [text, ms] of table) t.equal(parseOffsetTime(text), ms, text);
});
