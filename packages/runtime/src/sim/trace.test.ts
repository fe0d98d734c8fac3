import t from 'tap';
import { Trace, type TraceField } from './trace.js';

function hashOf(...lines: TraceField[][]): string {
  const trace = new Trace();
  for (const line of lines) trace.record(...line);
  return trace.hash;
}

t.test('Trace.hash: same lines → same hash; any difference → another', async (t) => {
  t.equal(hashOf([1, 'a'], [2.5, 'b']), hashOf([1, 'a'], [2.5, 'b']));
  const hashes = [
    hashOf(),
    hashOf(['ab']),
    hashOf(['a', 'b']),
    hashOf(['a'], ['b']),
    hashOf(['b'], ['a']),
    hashOf([1]),
    hashOf([-1]),
    hashOf([1.5]),
    hashOf([2 ** 40]),
    hashOf(['1']),
  ];
  t.equal(new Set(hashes).size, hashes.length);
  t.match(hashes[0], /^[0-9a-f]{16}$/);
});

t.test('Trace.lastLines: more lines than kept → the last ones, oldest first', async (t) => {
  const trace = new Trace({ linesMax: 3 });
  for (let i = 0; i < 5; i++) trace.record(i, 'line');
  t.same(trace.lastLines(), ['2 line', '3 line', '4 line']);
  t.same(trace.lastLines(1), ['4 line']);
  t.equal(trace.linesCount, 5);
});
