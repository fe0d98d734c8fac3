import { comparePositions, type Position } from '@daybook/proto';
import { type DaybookError, errorCode } from '@daybook/runtime';
import t from 'tap';
import type { ManagedLedger } from './managed-ledger-api.js';
import { Answers, LogWorld, position, readAll, smallOptions } from './testing/log-world.js';

const name = 'tenant/ns/persistent/topic';

function texts(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => `m${from + i}`);
}

function appendAll(log: ManagedLedger, messages: readonly string[]): void {
  for (const message of messages) log.append(Buffer.from(message));
}

async function until(world: LogWorld, holds: () => boolean, withinMs = 60_000): Promise<void> {
  const end = world.queue.nowMs + withinMs;
  while (!holds()) {
    if (world.queue.nowMs > end) throw new Error(`it did not happen within ${withinMs} ms`);
    await world.runFor(5);
  }
}

function ascending(positions: readonly (Position | undefined)[]): boolean {
  return positions.every((at, i) => i === 0 || (at !== undefined && comparePositions(positions[i - 1] as Position, at) < 0));
}

t.test('log: appends → acknowledged in order as runs, read back from the tail and from the bookies', async () => {
  const world = new LogWorld();
  const { logs } = world.broker({ tailCacheAgeMaxMs: 2_000 });
  const log = await world.settle(logs.open(name, smallOptions));
  t.same(log.lastConfirmed, log.beforeFirst, 'nothing yet');
  const answers = new Answers(log);
  appendAll(log, texts(500));
  await until(world, () => answers.positions.length === 500);
  t.ok(ascending(answers.positions));
  t.same(log.lastConfirmed, answers.positions.at(-1));
  const reads = () => [...world.bookies.bookies.values()].reduce((sum, bookie) => sum + bookie.readsCount, 0);
  const before = reads();
  t.same(
    (await world.settle(readAll(log))).map(({ text }) => text),
    texts(500),
  );
  t.equal(reads(), before, 'no bookie was asked');
  await world.runFor(10_000);
  t.equal(logs.cachedBytes, 0, 'an idle log holds nothing');
  t.same(
    await world.settle(readAll(log, 7)),
    texts(500).map((text, i) => ({ text, position: answers.positions[i] })),
  );
  t.ok(reads() > before);
  t.equal((await world.settle(log.readOne(answers.positions[42] as Position)))?.payload.toString(), 'm42');
  t.equal(await world.settle(log.readOne(position(answers.positions[0]?.ledgerId ?? 0, 500))), undefined);
  const stats = log.internalStats();
  t.match(stats, {
    numberOfEntries: 500,
    currentLedgerEntries: 500,
    entriesAddedCounter: 500,
    state: 'LedgerOpened',
    ensemble: { size: 3, configured: 3 },
  });
  t.equal(stats.totalBytes, texts(500).join('').length);
  await world.end();
});

t.test('log: made by a broker → its records and ledgers are named as Pulsar names them', async () => {
  const world = new LogWorld();
  const { logs, cluster } = world.broker();
  const log = await world.settle(logs.open(name, smallOptions));
  const { customMetadata, digestType, password } = await world.settle(cluster.client.metadata(log.beforeFirst.ledgerId));
  const utf8 = new TextDecoder();
  t.same(Object.fromEntries([...customMetadata].map(([key, value]) => [key, utf8.decode(value)])), {
    application: 'pulsar',
    component: 'managed-ledger',
    'pulsar/managed-ledger': name,
  });
  t.same([digestType, password.length], ['CRC32C', 0]);
  const value = world.tree.values.get(`/managed-ledgers/${name}`)?.value;
  t.same(value, Buffer.from([0x0a, 0x04, 0x08, log.beforeFirst.ledgerId, 0x20, 0x00]));
  await world.end();
});

t.test('log: entries per ledger reached while appending → new ledgers, ids ascend, entries from 0, all readable', async () => {
  const world = new LogWorld();
  const { logs } = world.broker();
  const options = { ...smallOptions, entriesPerLedgerMax: 50 };
  const log = await world.settle(logs.open(name, options));
  const answers = new Answers(log);
  await world.settle(log.openCursor('keep', log.beforeFirst));
  for (let i = 0; i < 40; i++) {
    appendAll(log, texts(10, i * 10));
    await world.runFor(3);
  }
  await until(world, () => answers.positions.length === 400);
  t.ok(ascending(answers.positions));
  t.equal(answers.errors.length, 0);
  const ledgers = new Set(answers.positions.map((at) => at?.ledgerId));
  t.ok(ledgers.size >= 4, `${ledgers.size} ledgers`);
  for (const [i, at] of answers.positions.entries()) {
    if (answers.positions[i - 1]?.ledgerId !== at?.ledgerId) t.equal(at?.entryId, 0, 'each begins at 0');
  }
  t.same(
    await world.settle(readAll(log)),
    texts(400).map((text, i) => ({ text, position: answers.positions[i] })),
  );
  t.equal(log.countBetween(log.beforeFirst, log.lastConfirmed), 400);
  await world.end();
});

t.test('log: nothing is appended for the longest time → an idle ledger rolls, an empty one does not', async () => {
  const world = new LogWorld();
  const { logs } = world.broker();
  const log = await world.settle(logs.open(name, { ...smallOptions, rolloverTimeMaxMs: 60_000 }));
  const answers = new Answers(log);
  await world.settle(log.openCursor('keep', log.beforeFirst));
  await world.runFor(200_000);
  t.equal(log.internalStats().ledgers.length, 1);
  appendAll(log, ['m0']);
  await world.runFor(70_000);
  t.equal(log.internalStats().ledgers.length, 2);
  t.same(log.lastConfirmed, answers.positions[0]);
  await world.runFor(200_000);
  t.equal(log.internalStats().ledgers.length, 2, 'no further empty ones');
  await world.end();
});

t.test('log: bookies of the ledger stop in the middle of appends → a new ledger takes over, nothing lost, doubled or reordered', async () => {
  const world = new LogWorld({ bookiesCount: 6, delayMs: 2 });
  const { logs } = world.broker();
  const log = await world.settle(logs.open(name, smallOptions));
  const answers = new Answers(log);
  const members = log.internalStats().ledgers[0]?.ledgerId;
  appendAll(log, texts(100));
  await until(world, () => answers.positions.length === 100);
  // All six refuse to be written to for a while: the writer fails, and no new ledger can be made.
  for (const bookie of world.bookies.bookies.values()) bookie.refuseAppends = 'UNAVAILABLE';
  for (let i = 0; i < 20; i++) {
    appendAll(log, texts(10, 100 + i * 10));
    await world.runFor(500);
  }
  t.equal(answers.positions.length, 100);
  for (const bookie of world.bookies.bookies.values()) bookie.refuseAppends = undefined;
  await until(world, () => answers.positions.length === 300, 120_000);
  t.equal(answers.errors.length, 0);
  t.ok(ascending(answers.positions));
  t.not(answers.positions.at(-1)?.ledgerId, members, 'in a new ledger');
  await world.settle(log.openCursor('keep', log.beforeFirst));
  t.same(
    (await world.settle(readAll(log))).map(({ text }) => text),
    texts(300),
  );
  await world.end();
});

t.test('log: no quorum for long → appends fail after the wait, bounded in bytes meanwhile; later ones work', async () => {
  const world = new LogWorld();
  const { logs } = world.broker({ appendWaitMaxMs: 10_000, appendBytesMax: 10_000 });
  const log = await world.settle(logs.open(name, smallOptions));
  const answers = new Answers(log);
  for (const bookie of ['b1', 'b2', 'b3']) world.bookies.kill(bookie);
  let drained = 0;
  let appended = 0;
  while (!log.isFull) log.append(Buffer.from(`m${appended++}`.padEnd(100, '.')));
  t.ok(logs.unansweredAppendBytes < 10_200);
  log.onDrain(() => drained++);
  await world.runFor(9_000);
  t.equal(answers.positions.length, 0);
  await world.runFor(4_000);
  t.equal(answers.positions.length, appended, 'all failed');
  t.equal(errorCode(answers.errors[0]), 'MANAGED_LEDGER_APPEND_TIMED_OUT');
  t.equal(drained, 1);
  for (const bookie of ['b1', 'b2', 'b3']) world.bookies.restart(bookie);
  log.append(Buffer.from('afterwards'));
  await until(world, () => answers.positions.length === appended + 1, 120_000);
  t.ok(answers.positions.at(-1) !== undefined);
  await world.settle(log.openCursor('keep', log.beforeFirst));
  t.equal((await world.settle(readAll(log))).at(-1)?.text, 'afterwards');
  t.equal(logs.unansweredAppendBytes, 0);
  await world.end();
});

t.test('log: a ledger with fewer bookies than wanted, then enough are up → rolls to the full size by itself', async () => {
  const world = new LogWorld({ bookiesCount: 2 });
  const { logs } = world.broker();
  const log = await world.settle(logs.open(name, smallOptions));
  const answers = new Answers(log);
  t.same(log.internalStats().ensemble, { size: 2, configured: 3 });
  appendAll(log, ['m0']);
  await world.runFor(30_000);
  t.same(log.internalStats().ledgers.length, 1, 'no use in trying');
  world.bookies.addBookie('b9');
  await until(world, () => log.internalStats().ensemble.size === 3, 20_000);
  appendAll(log, ['m1']);
  await until(world, () => answers.positions.length === 2);
  t.not(answers.positions[0]?.ledgerId, answers.positions[1]?.ledgerId);
  await world.end();
});

t.test('log: unloaded twice in a row and opened again → empty ledgers hold nothing up, ids go on ascending', async () => {
  const world = new LogWorld();
  const { logs } = world.broker();
  const positions: Position[] = [];
  for (let round = 0; round < 5; round++) {
    const log = await world.settle(logs.open(name, smallOptions));
    if (round === 0) await world.settle(log.openCursor('keep', log.beforeFirst));
    if (round !== 2) {
      const answers = new Answers(log);
      appendAll(log, texts(5, positions.length));
      await until(world, () => answers.positions.length === 5);
      positions.push(...(answers.positions as Position[]));
    }
    t.same(
      await world.settle(readAll(log)),
      texts(positions.length).map((text, i) => ({ text, position: positions[i] })),
    );
    t.equal(log.internalStats().ledgers.length, round === 2 ? 3 : Math.min(round + 1, round < 2 ? 9 : round));
    await world.settle(log.close());
  }
  t.ok(ascending(positions));
  await world.end();
});

t.test('log: kill -9 in the middle of appends → what was acknowledged is there, in order, under the same ids', async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const world = new LogWorld({ seed, delayMs: seed % 3 });
    const first = world.broker();
    const log = await world.settle(first.logs.open(name, { ...smallOptions, entriesPerLedgerMax: 40 }));
    await world.settle(log.openCursor('keep', log.beforeFirst));
    const answers = new Answers(log);
    for (let i = 0; i < 30; i++) {
      appendAll(log, texts(10, i * 10));
      await world.runFor(1);
    }
    first.crash();
    answers.isDeaf = true;
    const second = world.broker();
    const again = await world.settle(second.logs.open(name, smallOptions));
    const stored = await world.settle(readAll(again));
    t.ok(stored.length >= answers.positions.length, `seed ${seed}: ${answers.positions.length} acknowledged, ${stored.length} stored`);
    t.same(
      stored.slice(0, answers.positions.length).map(({ position: at }) => at),
      answers.positions,
    );
    t.same(
      stored.map(({ text }) => text),
      texts(stored.length),
      `seed ${seed}`,
    );
    t.equal(again.entriesCount, stored.length);
    await world.end();
  }
});

t.test('log: properties → kept beside the ledgers, after a kill -9 too; fenced → not changed', async () => {
  const world = new LogWorld();
  const first = world.broker();
  const log = await world.settle(first.logs.open(name, { ...smallOptions, entriesPerLedgerMax: 5 }));
  t.same(log.properties, new Map());
  await world.settle(log.setProperties((properties) => properties.set('owner', 'accounting').set('gone', 'soon')));
  const answers = new Answers(log);
  appendAll(log, texts(20));
  await until(world, () => answers.positions.length === 20);
  await world.settle(log.setProperties((properties) => properties.delete('gone')));
  first.crash();
  answers.isDeaf = true;
  const again = await world.settle(world.broker().logs.open(name, smallOptions));
  t.same(again.properties, new Map([['owner', 'accounting']]));
  const other = await world.settle(world.broker().logs.open(name, smallOptions));
  await t.rejects(world.settle(again.setProperties((properties) => properties.set('owner', 'nobody'))), { code: 'MANAGED_LEDGER_FENCED' });
  t.same(other.properties, new Map([['owner', 'accounting']]));
  await world.end();
});

t.test('log: taken over by another broker → the first one stops answering for good, nothing it acknowledged is missing', async () => {
  const world = new LogWorld();
  const [one, two] = [world.broker(), world.broker()];
  const mine = await world.settle(one.logs.open(name, smallOptions));
  await world.settle(mine.openCursor('keep', mine.beforeFirst));
  const answers = new Answers(mine);
  appendAll(mine, texts(20));
  await until(world, () => answers.positions.length === 20);
  const theirs = await world.settle(two.logs.open(name, smallOptions));
  const theirAnswers = new Answers(theirs);
  appendAll(mine, texts(5, 900));
  appendAll(theirs, texts(5, 20));
  await until(world, () => answers.fencedWith !== undefined && theirAnswers.positions.length === 5);
  t.equal(errorCode(answers.fencedWith), 'MANAGED_LEDGER_FENCED');
  t.equal(answers.positions.length, 20, 'no appends of both are acknowledged');
  t.throws(() => mine.append(Buffer.from('x')), { code: 'MANAGED_LEDGER_FENCED' });
  t.same(
    (await world.settle(readAll(theirs))).map(({ text }) => text),
    texts(25),
  );
  // The first broker may have it back, by opening it anew.
  const back = await world.settle(one.logs.open(name, smallOptions));
  theirs.append(Buffer.from('too late'));
  await until(world, () => theirAnswers.fencedWith !== undefined);
  t.equal(errorCode(theirAnswers.fencedWith), 'MANAGED_LEDGER_FENCED');
  t.same(
    (await world.settle(readAll(back))).map(({ text }) => text),
    texts(25),
  );
  await world.end();
});

t.test('log: fenced by recovery without a change of the list → compare-and-set decides that it is still ours', async () => {
  const world = new LogWorld();
  const { logs, cluster } = world.broker();
  const log = await world.settle(logs.open(name, smallOptions));
  const answers = new Answers(log);
  appendAll(log, texts(10));
  await until(world, () => answers.positions.length === 10);
  const other = world.bookies.connect();
  await world.settle(other.client.openWithRecovery(log.lastConfirmed.ledgerId, { password: new Uint8Array(0) }));
  appendAll(log, texts(10, 10));
  await until(world, () => answers.positions.length === 20);
  t.equal(answers.fencedWith, undefined);
  t.ok(ascending(answers.positions));
  t.not(answers.positions[9]?.ledgerId, answers.positions[10]?.ledgerId);
  t.ok(cluster !== undefined);
  await world.end();
});

t.test('log: two brokers open it at the same moment → one of them has it', async () => {
  for (let seed = 1; seed <= 8; seed++) {
    const world = new LogWorld({ seed });
    const [one, two] = [world.broker(), world.broker()];
    const outcomes = await world.settle(Promise.allSettled([one.logs.open(name, smallOptions), two.logs.open(name, smallOptions)]));
    const answers = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? new Answers(outcome.value) : undefined));
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') t.equal(errorCode(outcome.reason), 'MANAGED_LEDGER_FENCED');
      else appendAll(outcome.value, texts(3));
    }
    await world.runFor(20_000);
    t.equal(answers.filter((one) => one !== undefined && one.positions.length === 3 && one.fencedWith === undefined).length, 1);
    await world.end();
  }
});

t.test('log: the answer to the write of the list is lost → settled by reading it, at opening and at a roll', async () => {
  const world = new LogWorld();
  const { logs, session } = world.broker();
  session.loseWriteReplies = 1;
  const log = await world.settle(logs.open(name, smallOptions));
  const answers = new Answers(log);
  await world.settle(log.openCursor('keep', log.beforeFirst));
  appendAll(log, texts(3));
  await until(world, () => answers.positions.length === 3);
  session.loseWriteReplies = 1;
  await world.settle(log.roll());
  appendAll(log, texts(3, 3));
  await until(world, () => answers.positions.length === 6);
  t.equal(log.internalStats().ledgers.length, 2);
  t.same(
    (await world.settle(readAll(log))).map(({ text }) => text),
    texts(6),
  );
  await world.end();
});

t.test('log: metadata away during a roll → appends wait and go on afterwards', async () => {
  const world = new LogWorld();
  const { logs, session } = world.broker();
  const log = await world.settle(logs.open(name, smallOptions));
  const answers = new Answers(log);
  await world.settle(log.openCursor('keep', log.beforeFirst));
  appendAll(log, texts(3));
  await until(world, () => answers.positions.length === 3);
  session.isUnavailable = true;
  const rolled = log.roll();
  await world.runFor(100);
  appendAll(log, texts(3, 3));
  await world.runFor(5_000);
  t.equal(answers.positions.length, 3);
  session.isUnavailable = false;
  await world.settle(rolled);
  await until(world, () => answers.positions.length === 6);
  t.same(
    (await world.settle(readAll(log))).map(({ text }) => text),
    texts(6),
  );
  await world.end();
});

t.test('log: the last ledger cannot be recovered now → opening fails and succeeds later; nothing is given up', async () => {
  const world = new LogWorld();
  const first = world.broker();
  const log = await world.settle(first.logs.open(name, smallOptions));
  await world.settle(log.openCursor('keep', log.beforeFirst));
  const answers = new Answers(log);
  appendAll(log, texts(10));
  await until(world, () => answers.positions.length === 10);
  first.crash();
  for (const bookie of ['b1', 'b2', 'b3']) world.bookies.kill(bookie);
  const { logs } = world.broker();
  const failure = await world.settle(logs.open(name, smallOptions)).catch((error: DaybookError) => error);
  t.equal((failure as DaybookError).retry, 'later');
  for (const bookie of ['b1', 'b2', 'b3']) world.bookies.restart(bookie);
  const again = await world.settle(logs.open(name, smallOptions));
  t.same(
    (await world.settle(readAll(again))).map(({ text }) => text),
    texts(10),
  );
  await world.end();
});

t.test('log: an entry that no bookie can give → an error, never "not there"', async () => {
  const world = new LogWorld();
  const { logs } = world.broker({ tailCacheAgeMaxMs: 1 });
  const log = await world.settle(logs.open(name, smallOptions));
  const answers = new Answers(log);
  appendAll(log, texts(10));
  await until(world, () => answers.positions.length === 10);
  await world.runFor(5_000);
  for (const bookie of world.bookies.bookies.values()) bookie.refuseReads = 'UNAVAILABLE';
  const read = () => world.settle(log.read(log.beforeFirst, { entriesMax: 10, bytesMax: 1000 }));
  t.equal(((await read().catch((error: DaybookError) => error)) as DaybookError).retry, 'later', 'before the ledger could be opened');
  for (const bookie of world.bookies.bookies.values()) bookie.refuseReads = undefined;
  t.equal((await read()).length, 10);
  for (const bookie of world.bookies.bookies.values()) bookie.refuseReads = 'UNAVAILABLE';
  t.equal(((await read().catch((error: DaybookError) => error)) as DaybookError).retry, 'later', 'afterwards');
  for (const bookie of world.bookies.bookies.values()) bookie.refuseReads = undefined;
  t.equal((await world.settle(readAll(log))).length, 10);
  await world.end();
});

t.test('log: waiting for what is appended after a position → called once, when it is there, also when it was already', async () => {
  const world = new LogWorld();
  const { logs } = world.broker();
  const log = await world.settle(logs.open(name, smallOptions));
  const answers = new Answers(log);
  const calls: string[] = [];
  log.onAppended(log.beforeFirst, () => calls.push('first'));
  log.onAppended(log.beforeFirst, () => calls.push('stopped')).stop();
  await world.runFor(10);
  t.same(calls, []);
  appendAll(log, ['m0', 'm1']);
  await until(world, () => answers.positions.length === 2);
  t.same(calls, ['first']);
  log.onAppended(answers.positions[0] as Position, () => calls.push('already'));
  log.onAppended(answers.positions[1] as Position, () => calls.push('not yet'));
  t.same(calls, ['first'], 'never from inside the call');
  await world.runFor(1);
  t.same(calls, ['first', 'already']);
  t.equal(log.internalStats().waitingCursorsCount, 1);
  await world.end();
});

t.test('log: deleted → no record and no ledger is left; open or not', async () => {
  const world = new LogWorld();
  const { logs } = world.broker();
  for (const isOpen of [true, false]) {
    const log = await world.settle(logs.open(name, smallOptions));
    const answers = new Answers(log);
    const cursor = await world.settle(log.openCursor('c', log.beforeFirst));
    appendAll(log, texts(3));
    await until(world, () => answers.positions.length === 3);
    cursor.acknowledge(answers.positions[0] as Position);
    await world.settle(cursor.flush());
    await world.settle(log.roll());
    t.ok(await world.settle(logs.exists(name)));
    if (isOpen) await world.settle(log.delete());
    else {
      await t.rejects(world.settle(logs.delete(name)), { code: 'MANAGED_LEDGER_IN_USE' });
      await world.settle(log.close());
      await world.settle(logs.delete(name));
    }
    await world.runFor(1_000);
    t.equal(world.tree.values.size, 0);
    t.equal(world.bookies.store.ledgers.size, 0);
    t.notOk(await world.settle(logs.exists(name)));
  }
  await world.settle(logs.delete('tenant/ns/persistent/missing'));
  await world.end();
});

t.test('logs: a thousand opened and used once → quickly, with few metadata round trips and little memory each', async () => {
  const world = new LogWorld({ delayMs: 0 });
  const { logs } = world.broker();
  const writesBefore = world.tree.writesCount;
  const opened = await world.settle(Promise.all(Array.from({ length: 1000 }, (_, i) => logs.open(`t/n/persistent/topic-${i}`, smallOptions))));
  t.equal(world.tree.writesCount - writesBefore, 1000, 'one write of the list each');
  t.equal(world.tree.readsCount, 1000, 'one read each');
  t.equal(new Set(opened).size, 1000);
  t.equal(logs.openCount, 1000);
  await world.end();
});
