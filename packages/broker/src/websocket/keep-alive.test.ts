import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { KeepAlive, type Pinged } from './keep-alive.js';

class FakeSocket implements Pinged {
  pings = 0;
  isSilent = false;
  isNotReadByUs = false;
  ping(): void {
    this.pings++;
  }
  silent(): void {
    this.isSilent = true;
  }
}

function world() {
  const queue = new EventQueue({ seed: 1 });
  const clock = new SimClock(queue);
  return { queue, keepAlive: new KeepAlive(clock, 15_000) };
}

t.test('keep-alive: a client that answers → pinged every 15 s and left in peace', async (t) => {
  const { queue, keepAlive } = world();
  const socket = new FakeSocket();
  const ticket = keepAlive.watch(socket);
  for (let i = 0; i < 10; i++) {
    await queue.run({ untilMs: queue.nowMs + 15_000 });
    ticket.heard();
  }
  t.equal(socket.pings, 10);
  t.equal(socket.isSilent, false);
});

t.test('keep-alive: a silent client → out after two unanswered pings; one not read by us is not blamed', async (t) => {
  const { queue, keepAlive } = world();
  const [silent, held] = [new FakeSocket(), new FakeSocket()];
  held.isNotReadByUs = true;
  keepAlive.watch(silent);
  keepAlive.watch(held);
  await queue.run({ untilMs: 30_000 });
  t.equal(silent.isSilent, false);
  await queue.run({ untilMs: 45_000 });
  t.equal(silent.isSilent, true);
  t.equal(silent.pings, 2);
  await queue.run({ untilMs: 300_000 });
  t.equal(held.isSilent, false);
  t.ok(held.pings >= 19);
});

t.test('keep-alive: no sockets → no timer', async (t) => {
  const { queue, keepAlive } = world();
  keepAlive.watch(new FakeSocket()).stop();
  await queue.run({ untilMs: 100_000 });
  t.equal(queue.pendingCount, 0);
  const socket = new FakeSocket();
  keepAlive.watch(socket);
  await queue.run({ untilMs: 116_000 });
  t.equal(socket.pings, 1, 'and a new socket starts it again');
});
