import type { LedgerId } from '@daybook/proto';
import t from 'tap';
import { position } from './testing/log-world.js';
import { trimmableCount } from './trim.js';

const ledgers = [10, 20, 30].map((id) => ({ ledgerId: id as LedgerId, entries: id === 20 ? 0 : 5, bytes: 0, closedAtMs: 1 }));

for (const [name, marks, expected] of [
  ['no cursor', [], 2],
  ['a cursor at the start', [position(10, -1)], 0],
  ['one entry is left in the first', [position(10, 3)], 0],
  ['the first passed: with it the empty one behind it', [position(10, 4)], 2],
  ['in the last ledger', [position(30, 2)], 2],
  ['the last one passed as well: it stays', [position(30, 4)], 2],
  ['the slowest of several decides', [position(30, 2), position(10, 1), position(30, 4)], 0],
] as const) {
  t.test(`trim: ${name} → ${expected} ledgers`, async () => {
    t.equal(trimmableCount(ledgers, marks), expected);
  });
}
