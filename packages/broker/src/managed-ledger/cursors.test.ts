import { comparePositions, decodeManagedCursorInfo, type LedgerId, type Position } from '@daybook/proto';
import { errorCode } from '@daybook/runtime';
import { SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import type { Cursor, ManagedLedger, ManagedLedgerOptions } from './managed-ledger-api.js';
import type { ManagedLedgersSettings } from './settings.js';
import { Answers, LogWorld, position, readAll, show, smallOptions, type TestBroker } from './testing/log-world.js';

const name = 'tenant/ns/persistent/topic';
const cursorPath = `/managed-ledgers/${name}/s`;

async function until(world: LogWorld, holds: () => boolean, withinMs = 60_000): Promise<void> {
  const end = world.queue.nowMs + withinMs;
  while (!holds()) {
    if (world.queue.nowMs > end) throw new Error(`it did not happen within ${withinMs} ms`);
    await world.runFor(5);
  }
}

interface Opened {
  broker: TestBroker;
  log: ManagedLedger;
  answers: Answers;
  cursor: Cursor;
}

async function open(world: LogWorld, settings: Partial<ManagedLedgersSettings> = {}, options: ManagedLedgerOptions = smallOptions): Promise<Opened> {
  const broker = world.broker(settings);
  const log = await world.settle(broker.logs.open(name, options));
  const answers = new Answers(log);
  const cursor = await world.settle(log.openCursor('s', log.beforeFirst));
  return { broker, log, answers, cursor };
}

async function append(world: LogWorld, { log, answers }: Opened, count: number): Promise<Position[]> {
  const before = answers.positions.length;
  for (let i = 0; i < count; i++) {
    if (log.isFull)
      await new Promise<void>((resolve) => {
        log.onDrain(resolve);
        void world.runFor(200);
      });
    log.append(Buffer.from(`m${before + i}`));
  }
  await until(world, () => answers.positions.length === before + count);
  return answers.positions.slice(before) as Position[];
}

const info = (world: LogWorld) => decodeManagedCursorInfo(world.tree.values.get(cursorPath)?.value as Buffer);
const ledgersCount = (world: LogWorld) => world.bookies.store.ledgers.size;

t.test('cursor: acknowledgements with nothing after them, kill -9 a second later → still there', async () => {
  const world = new LogWorld();
  const first = await open(world);
  const entries = await append(world, first, 20);
  for (const i of [0, 1, 2, 5, 9, 10]) t.ok(first.cursor.acknowledge(entries[i] as Position));
  t.same(first.cursor.markDelete, entries[2]);
  t.equal(first.cursor.backlog, 14);
  await world.runFor(1_000);
  first.broker.crash();
  const second = await open(world);
  t.same(second.cursor.markDelete, entries[2]);
  t.equal(second.cursor.backlog, 14);
  t.same(second.cursor.stats().individuallyDeletedRanges, [
    { after: entries[4], upTo: entries[5] },
    { after: entries[8], upTo: entries[10] },
  ]);
  await world.end();
});

t.test('cursor: nothing acknowledged → no ledger of its own, the position is in the record; the first acknowledgement makes one', async () => {
  const world = new LogWorld();
  const opened = await open(world);
  const [first] = await append(world, opened, 3);
  await world.runFor(5_000);
  t.equal(ledgersCount(world), 1);
  t.same([info(world).cursorLedgerId, info(world).markDelete], [undefined, opened.log.beforeFirst]);
  t.equal(opened.cursor.stats().state, 'NoLedger');
  opened.cursor.acknowledge(first as Position);
  await world.settle(opened.cursor.flush());
  t.equal(ledgersCount(world), 2);
  t.equal(info(world).cursorLedgerId, opened.cursor.stats().cursorLedgerId);
  t.match(opened.cursor.stats(), { state: 'Open', cursorLedgerLastEntryId: 0 });
  await world.settle(opened.log.close());
  await world.runFor(1_000);
  t.same([info(world).cursorLedgerId, info(world).markDelete], [undefined, first], 'closed: the state is in the record');
  t.equal(ledgersCount(world), 1, "the cursor's ledger is gone");
  const again = await open(world);
  t.same(again.cursor.markDelete, first);
  await world.end();
});

t.test('cursor: many acknowledgements in a row → few writes, one at a time', async () => {
  const world = new LogWorld();
  const opened = await open(world);
  const entries = await append(world, opened, 1000);
  for (let i = 0; i < 1000; i += 2) {
    opened.cursor.acknowledge(entries[i] as Position);
    if (i % 10 === 0) await world.runFor(5);
  }
  await world.settle(opened.cursor.flush());
  const writes = opened.cursor.stats().cursorLedgerLastEntryId + 1;
  t.ok(writes >= 2 && writes <= 10, `${writes} writes in 500 ms`);
  await world.end();
});

t.test('cursor: its ledger has enough entries → a new one, the old one is deleted, the state stays', async () => {
  const world = new LogWorld();
  const opened = await open(world, { cursorEntriesPerLedgerMax: 5 });
  const entries = await append(world, opened, 30);
  const ids = new Set<LedgerId | undefined>();
  for (const entry of entries.slice(0, 25)) {
    opened.cursor.acknowledge(entry);
    await world.settle(opened.cursor.flush());
    ids.add(opened.cursor.stats().cursorLedgerId);
  }
  await world.runFor(1_000);
  t.ok(ids.size >= 4, `${ids.size} ledgers`);
  t.equal(ledgersCount(world), 2, 'one for the log, one for the cursor');
  opened.broker.crash();
  t.same((await open(world)).cursor.markDelete, entries[24]);
  await world.end();
});

t.test('cursor: cumulative, reset back and forth, beyond both ends → the mark is where entries are', async () => {
  const world = new LogWorld();
  const opened = await open(world);
  const entries = await append(world, opened, 10);
  const { cursor, log } = opened;
  cursor.acknowledge(entries[7] as Position);
  cursor.acknowledgeUpTo(entries[4] as Position);
  t.same(cursor.markDelete, entries[4]);
  t.equal(cursor.backlog, 4);
  t.notOk(cursor.acknowledge(entries[3] as Position), 'acknowledged already');
  t.notOk(cursor.acknowledge(position(999, 0)), 'no such ledger');
  await world.settle(cursor.reset(entries[1] as Position));
  t.same([cursor.markDelete, cursor.backlog], [entries[1], 8], 'single acknowledgements are forgotten');
  await world.settle(cursor.reset(position(0, 5)));
  t.same([cursor.markDelete, cursor.backlog], [log.beforeFirst, 10]);
  await world.settle(cursor.reset(position(999, 5)));
  t.same([cursor.markDelete, cursor.backlog], [log.lastConfirmed, 0]);
  await world.settle(cursor.reset(entries[2] as Position));
  opened.broker.crash();
  t.same((await open(world)).cursor.markDelete, entries[2], 'a reset is durable when it resolves');
  await world.end();
});

t.test('cursor: every other of 200,000 entries acknowledged, state in several entries → complete after kill -9', async () => {
  const world = new LogWorld({ delayMs: 0 });
  const opened = await open(world, { cursorEntryBytesMax: 4_000 }, { ...smallOptions, entriesPerLedgerMax: 60_000 });
  for (let i = 0; i < 20; i++) await append(world, opened, 10_000);
  // The simulated bookies are slow at recovering large ledgers.
  await world.settle(opened.log.roll());
  const { positions } = opened.answers;
  for (let i = 1; i < positions.length; i += 2) opened.cursor.acknowledge(positions[i] as Position);
  await world.settle(opened.cursor.flush());
  const parts = opened.cursor.stats().cursorLedgerLastEntryId + 1;
  t.ok(parts > 3, `${parts} entries`);
  opened.broker.crash();
  const again = await open(world);
  t.equal(again.cursor.backlog, 100_000);
  t.ok(positions.every((at, i) => again.cursor.isAcknowledged(at as Position) === (i % 2 === 1)));
  await world.settle(again.log.close());
  const third = await open(world);
  t.equal(third.cursor.backlog, 100_000, 'too large for the record: it stays in the ledger');
  await world.end();
});

t.test('cursor: its ledger is gone → back to the older position of the record, never ahead', async () => {
  const world = new LogWorld();
  const first = await open(world);
  const entries = await append(world, first, 10);
  first.cursor.acknowledgeUpTo(entries[2] as Position);
  await world.settle(first.cursor.flush());
  first.cursor.acknowledgeUpTo(entries[6] as Position);
  await world.settle(first.cursor.flush());
  first.broker.crash();
  world.bookies.store.ledgers.delete(info(world).cursorLedgerId as LedgerId);
  const second = await open(world);
  t.same(second.cursor.markDelete, entries[2]);
  await world.end();
});

t.test('cursor: its ledger cannot be read now → opening fails, later it has everything', async () => {
  const world = new LogWorld({ bookiesCount: 6 });
  const first = await open(world);
  const entries = await append(world, first, 10);
  first.cursor.acknowledgeUpTo(entries[6] as Position);
  await world.settle(first.cursor.flush());
  const stored = world.bookies.store.ledgers.get(info(world).cursorLedgerId as LedgerId);
  const members = stored?.metadata.segments[0]?.ensemble ?? [];
  first.broker.crash();
  for (const member of members) world.bookies.bookie(member).refuseReads = 'UNAVAILABLE';
  const second = world.broker();
  await t.rejects(world.settle(second.logs.open(name, smallOptions)));
  for (const member of members) world.bookies.bookie(member).refuseReads = undefined;
  t.same((await open(world)).cursor.markDelete, entries[6]);
  await world.end();
});

t.test('cursor: no bookie takes a new ledger → the state goes into the metadata meanwhile', async () => {
  const world = new LogWorld();
  const opened = await open(world);
  const entries = await append(world, opened, 10);
  for (const bookie of ['b1', 'b2', 'b3']) world.bookies.kill(bookie);
  opened.cursor.acknowledge(entries[0] as Position);
  opened.cursor.acknowledge(entries[4] as Position);
  await world.runFor(1_000);
  t.same([info(world).cursorLedgerId, info(world).markDelete], [undefined, entries[0]]);
  opened.broker.crash();
  for (const bookie of ['b1', 'b2', 'b3']) world.bookies.restart(bookie);
  const again = await open(world);
  t.same([again.cursor.markDelete, again.cursor.backlog], [entries[0], 8]);
  await world.end();
});

t.test('cursor: metadata and bookies away at the close → it ends all the same', async () => {
  const world = new LogWorld();
  const opened = await open(world);
  const entries = await append(world, opened, 10);
  for (const bookie of ['b1', 'b2', 'b3']) world.bookies.kill(bookie);
  opened.broker.session.isUnavailable = true;
  opened.broker.cluster.records.isUnavailable = true;
  opened.cursor.acknowledge(entries[0] as Position);
  const flushed = opened.cursor.flush().then(
    () => 'done',
    (error) => errorCode(error),
  );
  await world.settle(opened.log.close(), 60_000);
  t.equal(await world.settle(flushed), 'MANAGED_LEDGER_CLOSED');
  await world.end();
});

t.test('cursor: a broker that lost the log goes on acknowledging → it finds out; the owner keeps its own state', async () => {
  for (const hadLedger of [false, true]) {
    const world = new LogWorld();
    const first = await open(world);
    const entries = await append(world, first, 10);
    if (hadLedger) {
      first.cursor.acknowledge(entries[0] as Position);
      await world.settle(first.cursor.flush());
    }
    const second = await open(world);
    first.cursor.acknowledgeUpTo(entries[3] as Position);
    await until(world, () => first.answers.fencedWith !== undefined, 10_000);
    second.cursor.acknowledge(entries[5] as Position);
    await world.settle(second.cursor.flush());
    t.equal(second.cursor.isAcknowledged(entries[3] as Position), false);
    await world.runFor(1_000);
    second.broker.crash();
    const third = await open(world);
    t.ok(third.cursor.isAcknowledged(entries[5] as Position), 'what the owner was told is durable');
    await world.end();
  }
});

t.test('cursor: deleted → record and ledger gone; made anew it begins where it is told', async () => {
  const world = new LogWorld();
  const opened = await open(world);
  const entries = await append(world, opened, 10);
  opened.cursor.acknowledgeUpTo(entries[6] as Position);
  await world.settle(opened.cursor.flush());
  await world.settle(opened.log.deleteCursor('s'));
  await world.runFor(500);
  t.equal(world.tree.values.has(cursorPath), false);
  t.equal(ledgersCount(world), 1);
  t.equal(opened.log.cursors.size, 0);
  const again = await world.settle(opened.log.openCursor('s', entries[1] as Position));
  t.same(again.markDelete, entries[1]);
  t.equal(await world.settle(opened.log.openCursor('s', entries[5] as Position)), again, 'one of that name');
  await world.end();
});

t.test('cursor: a name with every kind of character → its own record, found again', async () => {
  const world = new LogWorld();
  const { log } = await open(world);
  const odd = 'a/b %2F+ünï:*';
  await world.settle(log.openCursor(odd, log.beforeFirst));
  await world.settle(log.close());
  t.ok((await open(world)).log.cursors.has(odd));
  await world.end();
});

t.test('cursor in memory: holds nothing back and counts only what exists', async () => {
  const world = new LogWorld();
  const broker = world.broker({ trimDelayMs: 1_000 });
  const log = await world.settle(broker.logs.open(name, smallOptions));
  const answers = new Answers(log);
  const reader = log.openTransientCursor('reader', log.beforeFirst);
  const opened = { broker, log, answers, cursor: reader };
  const entries = await append(world, opened, 10);
  reader.acknowledge(entries[4] as Position);
  t.equal(reader.backlog, 9);
  await world.settle(log.roll());
  await append(world, opened, 3);
  await world.runFor(5_000);
  t.equal(log.internalStats().ledgers.length, 1, 'without a durable cursor the closed ledger goes');
  t.equal(log.entriesCount, 3);
  t.equal(reader.backlog, 3);
  t.same(reader.markDelete, log.beforeFirst);
  t.equal(ledgersCount(world), 1);
  t.same(
    (await world.settle(log.read(entries[2] as Position, { entriesMax: 9, bytesMax: 999 }))).length,
    3,
    'a position in what is gone: what follows',
  );
  await world.end();
});

t.test('trim: a slow cursor → holds its ledgers; once it has passed them they go, and stay gone after kill -9', async () => {
  const world = new LogWorld();
  const opened = await open(world, { trimDelayMs: 1_000 });
  const { log, cursor } = opened;
  const fast = await world.settle(log.openCursor('fast', log.beforeFirst));
  const entries: Position[] = [];
  for (let i = 0; i < 4; i++) {
    entries.push(...(await append(world, opened, 5)));
    await world.settle(log.roll());
  }
  fast.acknowledgeUpTo(log.lastConfirmed);
  cursor.acknowledgeUpTo(entries[3] as Position);
  await world.runFor(5_000);
  t.equal(log.internalStats().ledgers.length, 5);
  cursor.acknowledgeUpTo(entries[11] as Position);
  await world.runFor(5_000);
  t.equal(log.internalStats().ledgers.length, 3);
  t.equal(log.entriesCount, 10);
  t.same(log.beforeFirst, position(entries[10]?.ledgerId ?? 0, -1));
  t.equal(cursor.backlog, 8);
  t.equal(await world.settle(log.readOne(entries[0] as Position)), undefined);
  opened.broker.crash();
  const again = await open(world, { trimDelayMs: 1_000 });
  t.same([again.cursor.markDelete, again.cursor.backlog], [entries[11], 8]);
  again.cursor.acknowledgeUpTo(again.log.lastConfirmed);
  await world.runFor(10_000);
  t.equal(again.log.internalStats().ledgers.length, 1);
  t.equal(again.log.totalBytes, 0);
  t.equal(again.cursor.backlog, 0);
  await append(world, again, 2);
  t.equal(again.cursor.backlog, 2);
  await world.end();
});

/** What a test knows about a log and its one cursor. */
interface Known {
  entries: Position[];
  /** When each acknowledged entry was acknowledged, by its position as text; missing: not acknowledged. */
  acknowledgedAtMs: Map<string, number>;
}

t.test(
  'cursor: random acknowledgements, resets, rolls, trims, unloads and kills → acknowledged a second ago stays, nothing else is ever skipped',
  async () => {
    for (let seed = 1; seed <= 25; seed++) {
      const world = new LogWorld({ seed, delayMs: seed % 3 });
      const random = new SimRandom(`cursor ${seed}`);
      const pick = (limit: number) => Math.floor((random.u32() / 2 ** 32) * limit);
      const settings = { cursorEntriesPerLedgerMax: 4, cursorEntryBytesMax: 60, trimDelayMs: 1_500 };
      const options = { ...smallOptions, entriesPerLedgerMax: 12 };
      let opened = await open(world, settings, options);
      const known: Known = { entries: [], acknowledgedAtMs: new Map() };
      const lives = () => known.entries.filter((at) => comparePositions(at, opened.log.beforeFirst) > 0);
      for (let round = 0; round < 60; round++) {
        const what = pick(20);
        const now = world.queue.nowMs;
        if (what < 5) known.entries.push(...(await append(world, opened, 1 + pick(6))));
        else if (what < 13) {
          for (let i = pick(4); i >= 0 && known.entries.length > 0; i--) {
            const at = known.entries[pick(known.entries.length)] as Position;
            if (opened.cursor.acknowledge(at)) known.acknowledgedAtMs.set(show(at), now);
          }
        } else if (what === 13 && known.entries.length > 0) {
          const at = known.entries[Math.floor(known.entries.length * 0.3)] as Position;
          opened.cursor.acknowledgeUpTo(at);
          for (const one of known.entries) {
            if (comparePositions(one, at) <= 0 && !known.acknowledgedAtMs.has(show(one))) known.acknowledgedAtMs.set(show(one), now);
          }
        } else if (what === 14 && lives().length > 0) {
          const list = lives();
          const at = list[pick(list.length)] as Position;
          await world.settle(opened.cursor.reset(at));
          known.acknowledgedAtMs.clear();
          for (const one of known.entries) if (comparePositions(one, at) <= 0) known.acknowledgedAtMs.set(show(one), 0);
        } else if (what === 15) await world.settle(opened.log.roll());
        else if (what === 16) await world.settle(opened.log.trim());
        else if (what === 17) await world.runFor(pick(1_500));
        else {
          const nowMs = world.queue.nowMs;
          const isKill = what === 18;
          if (isKill) {
            opened.broker.crash();
            opened.answers.isDeaf = true;
          } else await world.settle(opened.log.close());
          opened = await open(world, settings, options);
          for (const at of lives()) {
            const since = known.acknowledgedAtMs.get(show(at));
            const isAcknowledged = opened.cursor.isAcknowledged(at);
            if (since === undefined) t.notOk(isAcknowledged, `seed ${seed}, round ${round}: ${show(at)} was skipped`);
            else if (!isKill || nowMs - since >= 1_000) t.ok(isAcknowledged, `seed ${seed}, round ${round}: ${show(at)} was undone`);
            if (since !== undefined && !isAcknowledged) known.acknowledgedAtMs.delete(show(at));
          }
        }
        const waiting = lives().filter((at) => !known.acknowledgedAtMs.has(show(at)));
        t.equal(opened.cursor.backlog, waiting.length, `seed ${seed}, round ${round}: backlog`);
      }
      const rest = (await world.settle(readAll(opened.log))).map(({ position: at }) => show(at));
      t.same(rest, lives().map(show), `seed ${seed}: all entries are there`);
      await world.end();
    }
  },
);
