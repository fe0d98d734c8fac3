import t from 'tap';
import { runDaybook } from '../testing/run-daybook.js';
import { simulatorArguments } from './run-simulator.js';

t.test('daybook sim: one seed → the simulator runs it, exit code 0', async (t) => {
  const { code, output } = await runDaybook(['sim', '--world', 'bookie', '--seed', '3']);
  t.equal(code, 0);
  t.match(output, /\n1 seeds, 0 failed\n$/);
});

t.test('daybook sim: --trace → what the nodes say, with the time in front', async (t) => {
  const { code, output } = await runDaybook(['sim', '--seed', '3', '--trace']);
  t.equal(code, 0);
  t.match(output, /^\d+\.\d\d b1\.1 start\n/);
  t.match(output, /\n\d+\.\d\d c1\.\d+ ledger \d+ confirmed \d+\n/);
});

t.test('daybook sim: --seed with --seeds, --trace without a seed, an unknown world → exit code 2 and what to write', async (t) => {
  const wrong: readonly (readonly [words: string[], says: RegExp])[] = [
    [['--seed', '1', '--seeds', '5'], /leave out --seeds/],
    [['--trace'], /--seed/],
    [['--world', 'moon'], /ledger, cluster, bookie, tiny/],
  ];
  for (const [words, says] of wrong) {
    const { code, errors } = await runDaybook(['sim', ...words]);
    t.equal(code, 2);
    t.match(errors, says);
  }
});

t.test("simulator's arguments: each option → its own; --seed → the first of one", async (t) => {
  t.strictSame(simulatorArguments({ world: 'cluster', seeds: 5, from: 7, seconds: 9, jobs: 2 }).slice(2), [
    ...['--world', 'cluster', '--seeds', '5', '--from', '7', '--seconds', '9', '--jobs', '2'],
  ]);
  t.strictSame(simulatorArguments({ world: 'ledger', seed: 4, trace: true }).slice(2), [
    ...['--world', 'ledger', '--seeds', '1', '--from', '4', '--trace'],
  ]);
});
