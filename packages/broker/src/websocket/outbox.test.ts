import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { octets } from './answer-frames.js';
import { Outbox } from './outbox.js';

function world() {
  const queue = new EventQueue({ seed: 1 });
  const writes: Buffer[] = [];
  const sink = {
    writableLength: 0,
    destroyed: false,
    write: (text: string) => {
      writes.push(Buffer.from(text, 'latin1'));
      return true;
    },
  };
  return { queue, writes, sink, outbox: new Outbox(sink, new SimClock(queue)) };
}

t.test('outbox: the frames of a turn → one write, in order, each with its header', async (t) => {
  const { queue, writes, outbox } = world();
  outbox.text('early');
  outbox.open();
  outbox.text(octets('ü'));
  outbox.ping();
  outbox.pong(Buffer.from([1, 255]));
  outbox.text('x'.repeat(126));
  outbox.text('y'.repeat(65_536));
  t.equal(writes.length, 0);
  await queue.run({ untilMs: 1 });
  t.equal(writes.length, 1);
  const expected = Buffer.concat([
    Buffer.from([0x81, 5]),
    Buffer.from('early'),
    Buffer.from([0x81, 2, 0xc3, 0xbc, 0x89, 4]),
    Buffer.from('PING'),
    Buffer.from([0x8a, 2, 1, 255, 0x81, 126, 0, 126]),
    Buffer.alloc(126, 'x'),
    Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
    Buffer.alloc(65_536, 'y'),
  ]);
  t.ok(writes[0]?.equals(expected));
  outbox.text('again');
  await queue.run({ untilMs: 2 });
  t.equal(writes.length, 2);
});

t.test('outbox: a sink that is gone → nothing is written, nothing is kept', async (t) => {
  const { queue, writes, sink, outbox } = world();
  outbox.open();
  sink.destroyed = true;
  outbox.text('late');
  await queue.run({ untilMs: 1 });
  t.equal(writes.length, 0);
  t.equal(outbox.bytesWaiting, 0);
});
