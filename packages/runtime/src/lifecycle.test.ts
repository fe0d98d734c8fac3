import t from 'tap';
import { Lifecycle } from './lifecycle.js';

function recorder() {
  const log: string[] = [];
  const part = (name: string, failures: { start?: boolean; close?: boolean } = {}) => ({
    name,
    start: async () => {
      log.push(`start ${name}`);
      await Promise.resolve();
      if (failures.start) throw new Error(`${name} does not start`);
    },
    close: async () => {
      await Promise.resolve();
      log.push(`close ${name}`);
      if (failures.close) throw new Error(`${name} does not close`);
    },
  });
  return { log, part };
}

t.test('Lifecycle: parts started in order → closed in reverse, once however often asked', async (t) => {
  const { log, part } = recorder();
  const lifecycle = new Lifecycle();
  await Promise.all([lifecycle.start(part('a')), lifecycle.start(part('b'))]);
  lifecycle.onClose('c', () => void log.push('close c'));
  await Promise.all([lifecycle.close(), lifecycle.close()]);
  await lifecycle.close();
  t.same(log, ['start a', 'start b', 'close c', 'close b', 'close a']);
});

t.test('Lifecycle: a start fails → what was started is closed, its error is thrown, later starts are refused', async (t) => {
  const { log, part } = recorder();
  const lifecycle = new Lifecycle();
  await lifecycle.start(part('a', { close: true }));
  await t.rejects(lifecycle.start(part('b', { start: true })), { message: 'b does not start' });
  await t.rejects(lifecycle.start(part('c')), { code: 'LIFECYCLE_CLOSED' });
  t.throws(() => lifecycle.onClose('d', () => undefined), { code: 'LIFECYCLE_CLOSED' });
  await lifecycle.close();
  t.same(log, ['start a', 'start b', 'close a']);
});

t.test('Lifecycle: closed during a start → that part is closed too, also when its start then fails', async (t) => {
  for (const fails of [false, true]) {
    const { log, part } = recorder();
    const lifecycle = new Lifecycle();
    await lifecycle.start(part('a'));
    const starting = lifecycle.start(part('b', { start: fails }));
    const outcome = starting.then(
      () => 'started',
      (error: Error) => error.message,
    );
    await Promise.resolve();
    const closing = lifecycle.close();
    t.equal(await outcome, fails ? 'b does not start' : 'started');
    await closing;
    t.same(log, fails ? ['start a', 'start b', 'close a'] : ['start a', 'start b', 'close b', 'close a']);
  }
});

t.test('Lifecycle: closes fail → the others are closed all the same, then the failures are thrown', async (t) => {
  const { log, part } = recorder();
  {
    const lifecycle = new Lifecycle();
    await lifecycle.start(part('a'));
    await lifecycle.start(part('b', { close: true }));
    await t.rejects(lifecycle.close(), { message: 'b does not close' });
    t.same(log, ['start a', 'start b', 'close b', 'close a']);
  }
  const lifecycle = new Lifecycle();
  await lifecycle.start(part('a', { close: true }));
  await lifecycle.start(part('b', { close: true }));
  await t.rejects(lifecycle.close(), { name: 'AggregateError' });
});

t.test('Lifecycle: await using → closed at the end of the block', async (t) => {
  const { log, part } = recorder();
  {
    await using lifecycle = new Lifecycle();
    await lifecycle.start(part('a'));
  }
  t.same(log, ['start a', 'close a']);
});
