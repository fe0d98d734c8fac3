import t from 'tap';
import { acquireLock } from './log-lock.js';
import { type LogNode, LogWorld } from './testing/log-world.js';

const lock = '/daybook/logs/a/<default>/lock';

function asked({ store, clock, random, name }: LogNode, waitMs = 0) {
  return acquireLock({ store, clock, random, name: 'a', owner: name, waitMs });
}

t.test('log lock: many want it → one after the other, in the order they came', async (t) => {
  const world = new LogWorld();
  const order: string[] = [];
  let holders = 0;
  const all = Array.from({ length: 5 }, async () => {
    const node = world.node();
    const held = await asked(node, 60_000);
    holders++;
    if (holders > 1) throw new Error('two have it');
    order.push(node.name);
    await node.clock.sleep(100);
    holders--;
    await held.release();
    await held.release();
  });
  await world.run(Promise.all(all));
  t.equal(order.length, 5);
  t.same(world.tree.tree.children(lock), []);
});

t.test('log lock: somebody has it → LOG_LOCKED with the name, after the wait; who waited leaves nothing behind', async (t) => {
  const world = new LogWorld();
  await world.run(asked(world.node()));
  const startMs = world.queue.nowMs;
  const error = await world.rejection(asked(world.node(), 5_000));
  t.equal(error.code, 'LOG_LOCKED');
  t.match(error.message, /being written by node-1/);
  t.ok(world.queue.nowMs - startMs >= 5_000);
  t.equal(world.tree.tree.children(lock).length, 1);
});

t.test('log lock: the holder dies → the next one gets it when the session is over', async (t) => {
  const world = new LogWorld();
  const node = world.node();
  await world.run(asked(node));
  node.crash({ keepSession: true });
  const waiting = asked(world.node(), 60_000);
  await world.runFor(10_000);
  await node.session.close();
  const held = await world.run(waiting, 1_000);
  t.ok(held.isHeld);
});

t.test('log lock: the answer to asking is lost → the key is found again, not made twice', async (t) => {
  const world = new LogWorld();
  const node = world.node();
  node.store.beforeWrite = () => node.session.setFaults({ lostReplies: 1_000 });
  const asking = asked(node, 1_000);
  node.clock.after(20, () => node.session.setFaults({ lostReplies: 0 }));
  const held = await world.run(asking.catch(() => undefined));
  node.store.beforeWrite = undefined;
  node.session.setFaults({ lostReplies: 0 });
  if (held !== undefined) {
    t.equal(world.tree.tree.children(lock).length, 1);
    await world.run(held.release());
  }
  t.equal(world.tree.tree.children(lock).length, 0);
});

t.test('log lock: the session is lost → not held any more, told once', async (t) => {
  const world = new LogWorld();
  const node = world.node();
  const held = await world.run(asked(node));
  let told = 0;
  held.onLost(() => {
    told++;
  });
  node.session.expire();
  node.session.expire();
  t.equal(held.isHeld, false);
  t.equal(told, 1);
  held.onLost(() => {
    told++;
  });
  t.equal(told, 2, 'who asks later is told at once');
  await world.run(held.release());
});

t.test('log lock: asked to stop while waiting → gives up', async (t) => {
  const world = new LogWorld();
  await world.run(asked(world.node()));
  const { store, clock, random } = world.node();
  const stop = new AbortController();
  const waiting = acquireLock({ store, clock, random, name: 'a', owner: 'x', waitMs: 60_000, stop: stop.signal }).catch((error) => error.code);
  await world.runFor(1_000);
  stop.abort();
  t.equal(await world.run(waiting, 1_000), 'LOG_LOCKED');
});
