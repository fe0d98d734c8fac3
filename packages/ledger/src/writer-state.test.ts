import type { BookieCode, BookieId } from '@daybook/proto';
import fc from 'fast-check';
import t from 'tap';
import type { PendingBatch } from './batch-queue.js';
import { storesEntry } from './distribution.js';
import type { QuorumSizes } from './quorum.js';
import { allQuorumSizes } from './testing/quorum-sizes.js';
import { failedIndexes, type MemberIdentity, newWriterState, step, type WriterEffect, type WriterEvent, type WriterState } from './writer-state.js';

const limits = { appendTimeoutMs: 5_000, quorumTimeoutMs: 30_000, lagBytesMax: 1_000, lagMsMax: 1_000 };
const identity = (bookieId: string, incarnation = '1'): MemberIdentity => ({ bookieId: bookieId as BookieId, incarnation });

interface Sent {
  index: number;
  admission: number;
  batch: PendingBatch;
}

/** Drives the machine by hand; what it sends piles up in `sent`. */
class Driver {
  readonly state: WriterState<PendingBatch>;
  readonly effects: WriterEffect<PendingBatch>[] = [];
  sent: Sent[] = [];
  nowMs = 0;
  #next = 0;
  #number = 0;

  constructor(sizes: QuorumSizes, names: readonly string[]) {
    this.state = newWriterState({ sizes, limits, members: names.map((name) => identity(name)), lastConfirmed: -1, lengthConfirmed: 0, nowMs: 0 });
  }

  apply(event: WriterEvent<PendingBatch>): void {
    const effects: WriterEffect<PendingBatch>[] = [];
    step(this.state, event, effects);
    for (const effect of effects)
      if (effect.kind === 'send') this.sent.push({ index: effect.index, admission: effect.admission, batch: effect.batch });
    this.effects.push(...effects);
  }

  append(count = 1, bytes = 100): PendingBatch {
    const batch = {
      number: this.#number++,
      firstEntryId: this.#next,
      lastEntryId: this.#next + count - 1,
      bytes,
      lengthUpTo: (this.#next + count) * 10,
      builtAtMs: this.nowMs,
    };
    this.#next += count;
    this.apply({ kind: 'append', batch });
    return batch;
  }

  /** Answers the oldest thing sent to an index. */
  answer(index: number, code: BookieCode = 'OK'): Sent | undefined {
    const at = this.sent.findIndex((sent) => sent.index === index);
    const [sent] = at === -1 ? [] : this.sent.splice(at, 1);
    if (sent !== undefined) this.apply({ kind: 'answered', ...sent, code, nowMs: this.nowMs });
    return sent;
  }

  change(names: readonly string[]): void {
    this.apply({ kind: 'change-began' });
    this.apply({ kind: 'change-ended', members: names.map((name) => identity(name)), nowMs: this.nowMs });
  }

  get confirmed(): number[] {
    return this.effects.flatMap((effect) => (effect.kind === 'confirmed' ? [effect.upTo] : []));
  }
}

const e3 = { ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2 };

t.test('writer state: Qa members answered → confirmed in order, released when all answered', async (t) => {
  const driver = new Driver(e3, ['a', 'b', 'c']);
  driver.append(5);
  driver.append(5);
  t.equal(driver.sent.length, 6);
  driver.answer(0);
  driver.answer(0);
  t.equal(driver.state.lastConfirmed, -1, 'one copy is not enough');
  driver.answer(2);
  t.equal(driver.state.lastConfirmed, 4);
  driver.answer(2);
  t.same(driver.confirmed, [4, 9]);
  t.equal(driver.state.lengthConfirmed, 100);
  t.equal(driver.state.retainedBytes, 200, 'b may still need them');
  driver.answer(1);
  driver.answer(1);
  t.equal(driver.state.retainedBytes, 0);
});

t.test('writer state: E > Qw → each index gets only batches that have entries for it', async (t) => {
  const driver = new Driver({ ensembleSize: 4, writeQuorumSize: 2, ackQuorumSize: 2 }, ['a', 'b', 'c', 'd']);
  driver.append(1);
  t.same(
    driver.sent.map((sent) => sent.index),
    [0, 1],
  );
  driver.append(1);
  driver.answer(1);
  driver.answer(1);
  driver.answer(2);
  t.equal(driver.state.lastConfirmed, -1, 'entry 1 is complete, entry 0 is not');
  driver.answer(0);
  t.equal(driver.state.lastConfirmed, 1);
  t.equal(driver.state.retainedBytes, 0, 'indexes without entries hold nothing back');
});

t.test('writer state: answers while an ensemble change runs → counted, nothing confirmed until it ended', async (t) => {
  const driver = new Driver(e3, ['a', 'b', 'c']);
  driver.append(1);
  driver.answer(2, 'UNAVAILABLE');
  driver.apply({ kind: 'change-began' });
  driver.answer(0);
  driver.answer(1);
  t.equal(driver.state.lastConfirmed, -1);
  driver.append(1);
  driver.apply({ kind: 'change-ended', members: ['a', 'b', 'd'].map((name) => identity(name)), nowMs: 0 });
  t.equal(driver.state.lastConfirmed, 0);
  t.same(
    driver.sent.filter((sent) => sent.index === 2).map((sent) => sent.batch.number),
    [0, 1],
    'the new member gets all from the start of its segment, in order',
  );
});

t.test('writer state: change undoes the acks of the replaced index in all entries before any is confirmed (P2)', async (t) => {
  const driver = new Driver({ ensembleSize: 2, writeQuorumSize: 1, ackQuorumSize: 1 }, ['a', 'b']);
  driver.append(1); // to a
  driver.append(1); // to b
  driver.answer(1);
  t.equal(driver.state.lastConfirmed, -1);
  driver.answer(0, 'UNAVAILABLE');
  driver.apply({ kind: 'change-began' });
  driver.apply({ kind: 'change-ended', members: [identity('c'), identity('d')], nowMs: 0 });
  t.equal(driver.state.lastConfirmed, -1, 'b acknowledged entry 1, but d does not have it');
  driver.answer(0);
  t.equal(driver.state.lastConfirmed, 0);
  driver.answer(1);
  t.equal(driver.state.lastConfirmed, 1);
});

t.test('writer state: a change that replaces nobody → confirming goes on (P3)', async (t) => {
  const driver = new Driver(e3, ['a', 'b', 'c']);
  driver.append(1);
  driver.apply({ kind: 'change-began' });
  driver.answer(0);
  driver.answer(1);
  driver.apply({ kind: 'change-ended', members: ['a', 'b', 'c'].map((name) => identity(name)), nowMs: 0 });
  t.same(driver.confirmed, [0]);
});

t.test('writer state: late answer of a replaced or readmitted member → ignored (R3)', async (t) => {
  const driver = new Driver({ ...e3, ackQuorumSize: 3 }, ['a', 'b', 'c']);
  driver.append(1);
  driver.answer(0);
  driver.answer(1);
  const late = driver.sent.shift() as Sent;
  driver.apply({ kind: 'answered', ...late, code: 'TIMEOUT', nowMs: 0 });
  driver.change(['a', 'b', 'd']);
  driver.apply({ kind: 'answered', ...late, code: 'OK', nowMs: 0 });
  t.equal(driver.state.lastConfirmed, -1);
  driver.answer(2);
  t.equal(driver.state.lastConfirmed, 0);
});

t.test('writer state: failed member without spare → goes on with the others, readmitted from lastConfirmed + 1', async (t) => {
  const driver = new Driver(e3, ['a', 'b', 'c']);
  driver.append(1);
  driver.answer(2, 'UNAVAILABLE');
  driver.answer(0);
  driver.answer(1);
  t.equal(driver.state.lastConfirmed, 0);
  t.equal(driver.state.retainedBytes, 0, 'nothing is kept for it');
  driver.append(1);
  t.equal(driver.sent.length, 2);
  driver.apply({ kind: 'readmit', index: 2, nowMs: 0 });
  t.equal(driver.sent.length, 3);
  driver.answer(2);
  driver.answer(0);
  t.equal(driver.state.lastConfirmed, 1, 'its answer counts again');
});

t.test('writer state: member lost its disks → what it acknowledged and nobody confirmed does not count', async (t) => {
  const driver = new Driver(e3, ['a', 'b', 'c']);
  driver.append(1);
  driver.answer(0);
  driver.apply({ kind: 'member-lost', index: 0, nowMs: 0 });
  driver.answer(1);
  t.equal(driver.state.lastConfirmed, -1);
  driver.answer(2);
  t.equal(driver.state.lastConfirmed, 0);
});

t.test('writer state: FENCED, UNAUTHORIZED, BAD_REQUEST → final, nothing is confirmed afterwards', async (t) => {
  for (const [code, reason] of [
    ['FENCED', 'fenced'],
    ['UNAUTHORIZED', 'unauthorized'],
    ['BAD_REQUEST', 'bad-request'],
  ] as const) {
    const driver = new Driver(e3, ['a', 'b', 'c']);
    driver.append(1);
    driver.answer(0, code);
    t.match(driver.effects.at(-1), { kind: 'failed', failure: { reason, bookieId: 'a' } });
    driver.answer(1);
    driver.answer(2);
    t.equal(driver.state.lastConfirmed, -1);
    t.equal(driver.state.retainedBytes, 0);
  }
});

t.test('writer state: tick → silent member fails after the append time-out, the writer after the quorum time-out', async (t) => {
  const driver = new Driver(e3, ['a', 'b', 'c']);
  driver.append(1);
  driver.answer(0);
  driver.apply({ kind: 'tick', nowMs: 4_999 });
  t.same(failedIndexes(driver.state), []);
  driver.apply({ kind: 'tick', nowMs: 5_000 });
  t.same(failedIndexes(driver.state), [1, 2]);
  driver.apply({ kind: 'tick', nowMs: 29_999 });
  t.equal(driver.state.phase.at, 'open');
  driver.apply({ kind: 'tick', nowMs: 30_000 });
  t.match(driver.state.phase, { at: 'failed', failure: { reason: 'timeout', quorumLost: true } });
});

t.test('writer state: member behind by too many confirmed bytes for a second → counts as failed (P15)', async (t) => {
  const driver = new Driver(e3, ['a', 'b', 'c']);
  driver.append(1, 600);
  driver.append(1, 600);
  for (const index of [0, 0, 1, 1]) driver.answer(index);
  driver.apply({ kind: 'tick', nowMs: 999 });
  t.same(failedIndexes(driver.state), []);
  t.equal(driver.state.retainedBytes, 1_200);
  driver.apply({ kind: 'tick', nowMs: 1_000 });
  t.same(failedIndexes(driver.state), [2]);
  t.equal(driver.state.retainedBytes, 0);
});

t.test('writer state: answer out of order → the member is not trusted', async (t) => {
  const driver = new Driver(e3, ['a', 'b', 'c']);
  driver.append(1);
  driver.append(1);
  const second = driver.sent.find((sent) => sent.index === 0 && sent.batch.number === 1) as Sent;
  driver.apply({ kind: 'answered', ...second, code: 'OK', nowMs: 0 });
  t.same(failedIndexes(driver.state), [0]);
});

/**
 * The machine against a model that looks at single entries: what each bookie (with its disks) holds, and which ensemble the metadata names for which
 * entry. It knows nothing of watermarks, admissions or batches kept.
 */
class Model {
  readonly driver: Driver;
  readonly sizes: QuorumSizes;
  /** `bookie#incarnation` → entries durable there. */
  readonly holds = new Map<string, Set<number>>();
  /** Stored segments, as disks. */
  segments: { first: number; disks: string[] }[];
  #seen = 0;
  #nextBookie = 0;
  #confirmed = -1;
  pendingChange: { members: MemberIdentity[]; isStored: boolean } | undefined;

  constructor(sizes: QuorumSizes) {
    this.sizes = sizes;
    const names = Array.from({ length: sizes.ensembleSize }, () => this.newName());
    this.driver = new Driver(sizes, names);
    this.segments = [{ first: 0, disks: names.map((name) => `${name}#1`) }];
  }

  newName(): string {
    return `n${this.#nextBookie++}`;
  }

  diskAt(index: number): string {
    const { bookieId, incarnation } = (this.driver.state.members[index] as { identity: MemberIdentity }).identity;
    return `${bookieId}#${incarnation}`;
  }

  /** The bookie stores the batch and answers. */
  answerOk(index: number): void {
    const sent = this.driver.sent.find((one) => one.index === index);
    if (sent === undefined) return;
    if (sent.admission === this.driver.state.members[index]?.admission) {
      const held = this.holds.get(this.diskAt(index)) ?? new Set();
      this.holds.set(this.diskAt(index), held);
      for (let id = sent.batch.firstEntryId; id <= sent.batch.lastEntryId; id++) if (storesEntry(this.sizes, index, id)) held.add(id);
    }
    this.driver.answer(index);
    this.check();
  }

  check(): void {
    const { confirmed } = this.driver;
    for (; this.#seen < confirmed.length; this.#seen++) {
      const upTo = confirmed[this.#seen] as number;
      if (upTo <= this.#confirmed) throw new Error(`confirmed ${upTo} after ${this.#confirmed} (I1)`);
      if (upTo > this.driver.state.lastAppended) throw new Error('confirmed more than was appended');
      for (let id = this.#confirmed + 1; id <= upTo; id++) this.#checkEntry(id);
      this.#confirmed = upTo;
    }
  }

  #checkEntry(id: number): void {
    const segment = this.segments.findLast(({ first }) => first <= id) as { first: number; disks: string[] };
    const copies = segment.disks.filter((disk, index) => storesEntry(this.sizes, index, id) && this.holds.get(disk)?.has(id)).length;
    if (copies < this.sizes.ackQuorumSize) throw new Error(`entry ${id} confirmed with ${copies} copies in ${segment.disks} (I3)`);
  }
}

type Action =
  | { kind: 'append'; count: number }
  | { kind: 'ok' | 'fail' | 'readmit' | 'wipe'; index: number }
  | { kind: 'change-begin'; replaced: number }
  | { kind: 'change-store' | 'change-end' };

function run(model: Model, action: Action): void {
  const { driver, sizes } = model;
  const { state } = driver;
  const index = 'index' in action ? action.index % sizes.ensembleSize : 0;
  switch (action.kind) {
    case 'append':
      driver.append(action.count);
      break;
    case 'ok':
      model.answerOk(index);
      break;
    case 'fail':
      driver.answer(index, 'UNAVAILABLE');
      break;
    case 'readmit':
      if (state.phase.at === 'open' && state.members[index]?.isFailed && model.diskAt(index) !== lostDisks.get(model)) {
        driver.apply({ kind: 'readmit', index, nowMs: 0 });
      }
      break;
    case 'wipe': {
      // At most Qa - 1 disks may be lost for good, and the machine is told.
      const disk = model.diskAt(index);
      if (sizes.ackQuorumSize > 1 && model.holds.has(disk) && !lostDisks.has(model)) {
        model.holds.delete(disk);
        driver.apply({ kind: 'member-lost', index, nowMs: 0 });
        lostDisks.set(model, disk);
      }
      break;
    }
    case 'change-begin': {
      if (state.phase.at !== 'open') break;
      driver.apply({ kind: 'change-began' });
      const members = state.members.map((member, at) => ((action.replaced >> at) & 1 ? identity(model.newName()) : member.identity));
      model.pendingChange = { members, isStored: false };
      break;
    }
    case 'change-store':
      if (model.pendingChange !== undefined && !model.pendingChange.isStored) {
        model.pendingChange.isStored = true;
        const first = state.lastConfirmed + 1;
        const disks = model.pendingChange.members.map(({ bookieId, incarnation }) => `${bookieId}#${incarnation}`);
        model.segments = [...model.segments.filter((segment) => segment.first < first), { first, disks }];
      }
      break;
    case 'change-end':
      if (model.pendingChange?.isStored) {
        driver.apply({ kind: 'change-ended', members: model.pendingChange.members, nowMs: 0 });
        model.pendingChange = undefined;
      }
      break;
  }
  model.check();
}

const lostDisks = new WeakMap<Model, string>();

const actions = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 5 }) }) },
    { weight: 12, arbitrary: fc.record({ kind: fc.constant('ok' as const), index: fc.nat(5) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('fail' as const, 'readmit' as const), index: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('wipe' as const), index: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('change-begin' as const), replaced: fc.nat(63) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('change-store' as const, 'change-end' as const) }) },
  ),
  { maxLength: 120 },
);

t.test(
  'writer state: any acks, failures, losses and changes → in order, never with fewer than Qa copies in the stored ensemble, and it finishes',
  async () => {
    fc.assert(
      fc.property(fc.constantFrom(...allQuorumSizes), actions, (quorum, list) => {
        const model = new Model(quorum);
        const { driver } = model;
        for (const action of list) run(model, action);
        // Then all goes well again: the change ends, failed members are replaced or come back, everybody answers.
        run(model, { kind: 'change-store' });
        run(model, { kind: 'change-end' });
        const lost = lostDisks.get(model);
        const failed = failedIndexes(driver.state).filter((index) => model.diskAt(index) === lost);
        if (failed.length > 0) {
          run(model, { kind: 'change-begin', replaced: failed.reduce((bits, index) => bits | (1 << index), 0) });
          run(model, { kind: 'change-store' });
          run(model, { kind: 'change-end' });
        }
        for (const index of failedIndexes(driver.state)) run(model, { kind: 'readmit', index });
        while (driver.sent.length > 0) model.answerOk((driver.sent[0] as Sent).index);
        if (driver.state.lastConfirmed !== driver.state.lastAppended) throw new Error(`stuck at ${driver.state.lastConfirmed}`);
        if (driver.state.retainedBytes !== 0 || driver.state.batches.count !== 0) throw new Error('bytes are kept for nobody');
      }),
      { numRuns: 2_000 },
    );
  },
);
