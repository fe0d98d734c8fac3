import { comparePositions, type LedgerId, type Position } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import { AckSet } from './ack-set.js';
import { LedgerChain } from './ledger-chain.js';
import { position, show } from './testing/log-world.js';

/** Entries of the ledgers 10, 20, 30, ... */
function chainOf(entries: readonly number[]): LedgerChain {
  return new LedgerChain(entries.map((count, index) => ({ ledgerId: ((index + 1) * 10) as LedgerId, entries: count, bytes: 0, closedAtMs: 1 })));
}

function positionsOf(chain: LedgerChain): Position[] {
  return chain.ledgers().flatMap(({ ledgerId, entries }) => Array.from({ length: entries }, (_, entry) => position(ledgerId, entry)));
}

/** The naive model: every acknowledged position in a set of texts. */
class Model {
  readonly acknowledged = new Set<string>();
  readonly chain: LedgerChain;
  mark: Position;

  constructor(chain: LedgerChain) {
    this.chain = chain;
    this.mark = chain.beforeFirst;
  }

  add(at: Position): boolean {
    if (!this.chain.has(at) || this.has(at)) return false;
    this.acknowledged.add(show(at));
    return true;
  }

  addUpTo(at: Position): void {
    for (const one of positionsOf(this.chain)) if (comparePositions(one, at) <= 0) this.acknowledged.add(show(one));
  }

  reset(at: Position): void {
    this.acknowledged.clear();
    this.addUpTo(at);
  }

  has(at: Position): boolean {
    return this.acknowledged.has(show(at));
  }

  get backlog(): number {
    return positionsOf(this.chain).filter((one) => !this.has(one)).length;
  }
}

type Step =
  | { kind: 'ack' | 'upTo' | 'reset'; index: number }
  | { kind: 'odd'; ledger: number; entry: number }
  | { kind: 'grow'; count: number }
  | { kind: 'roll' }
  | { kind: 'trim' };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('ack' as const), index: fc.nat(200) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('upTo' as const), index: fc.nat(200) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reset' as const), index: fc.nat(200) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('odd' as const), ledger: fc.nat(60), entry: fc.integer({ min: -1, max: 50 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('grow' as const), count: fc.nat(40) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('roll' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('trim' as const) }) },
);

function apply(one: Step, chain: LedgerChain, acks: AckSet, model: Model): void {
  const all = positionsOf(chain);
  const last = chain.last.ledgerId;
  switch (one.kind) {
    case 'grow':
      chain.grow(one.count, 0);
      break;
    case 'roll':
      chain.append({ ledgerId: (last + 10) as LedgerId, entries: 0, bytes: 0, closedAtMs: 0 });
      break;
    case 'trim':
      // What trimming may do: first ledgers that the mark has passed.
      if (chain.length > 1 && acks.mark.ledgerId > chain.first.ledgerId) {
        chain.dropFirst(1);
        acks.trimmed(chain.beforeFirst);
      }
      break;
    case 'odd':
      if (chain.get(one.ledger as LedgerId) === undefined) t.notOk(acks.add(position(one.ledger, one.entry)), 'no such ledger');
      break;
    default: {
      const at = all[one.index % Math.max(1, all.length)];
      if (at === undefined) break;
      if (one.kind === 'ack') t.equal(acks.add(at), model.add(at), `acknowledge ${show(at)}`);
      else if (one.kind === 'upTo') {
        acks.addUpTo(at);
        model.addUpTo(at);
      } else {
        acks.reset(at);
        model.reset(at);
      }
    }
  }
}

t.test('ack set: random acknowledgements, resets, growth, rolls and trims → as a plain set of positions', async () => {
  fc.assert(
    fc.property(fc.array(fc.nat(40), { minLength: 1, maxLength: 3 }), fc.array(step, { maxLength: 80 }), (entries, steps) => {
      const chain = chainOf(entries);
      const acks = new AckSet(chain, chain.beforeFirst);
      const model = new Model(chain);
      for (const one of steps) {
        apply(one, chain, acks, model);
        for (const at of positionsOf(chain)) t.equal(acks.has(at), model.has(at), `has ${show(at)}`);
        t.equal(acks.backlog(chain.newest()), model.backlog, 'backlog');
        const next = chain.next(acks.mark);
        if (chain.has(next)) t.notOk(model.has(next), 'the mark is as far as it can be');
      }
      t.equal(acks.rangesCount(), acks.ranges().length, 'counting the ranges and making them agree');
      const inRanges = acks.ranges().flatMap(({ lower, upper }) => {
        t.equal(lower.ledgerId, upper.ledgerId);
        return Array.from({ length: upper.entryId - lower.entryId }, (_, i) => show(position(lower.ledgerId, lower.entryId + 1 + i)));
      });
      const above = positionsOf(chain).filter((at) => comparePositions(at, acks.mark) > 0 && model.has(at));
      t.same(inRanges, above.map(show), 'ranges hold what is acknowledged above the mark');
    }),
    { numRuns: 150 },
  );
});

t.test('ack set: a million acknowledgements, every other entry first → compact, and all of it collapses when the gaps are filled', async () => {
  const chain = chainOf([1_000_000, 1_000_000]);
  const acks = new AckSet(chain, chain.beforeFirst);
  const before = process.memoryUsage();
  for (const ledger of [20, 10]) for (let entry = 1; entry < 1_000_000; entry += 2) acks.add(position(ledger, entry));
  const after = process.memoryUsage();
  t.equal(acks.aboveCount, 1_000_000);
  t.same(acks.mark, position(10, -1));
  t.ok(after.heapUsed + after.external - before.heapUsed - before.external < 20 * 1024 * 1024, 'a few bits each');
  for (const ledger of [10, 20]) for (let entry = 0; entry < 1_000_000; entry += 2) acks.add(position(ledger, entry));
  t.same(acks.mark, position(20, 999_999));
  t.equal(acks.aboveCount, 0);
  t.same(acks.ledgers(), []);
});

t.test('ack set: the last entry of a ledger, then an empty ledger, then more → the mark steps over', async () => {
  const chain = chainOf([2, 0, 3]);
  const acks = new AckSet(chain, chain.beforeFirst);
  t.ok(acks.add(position(30, 0)));
  t.ok(acks.add(position(10, 1)));
  t.same(acks.mark, position(10, -1));
  t.ok(acks.add(position(10, 0)));
  t.same(acks.mark, position(30, 0));
  t.notOk(acks.add(position(30, 3)), 'beyond what is confirmed');
  t.notOk(acks.add(position(10, 0)), 'twice');
});
