import t from 'tap';
import { diskCases } from '../disk-conformance.js';
import { SimClock } from './clock.js';
import { SimDisk, type SimDiskOptions } from './disk.js';
import { EventQueue } from './event-queue.js';

for (const { name, run } of diskCases) {
  t.test(`SimDisk: ${name}`, async () => {
    const queue = new EventQueue({ seed: 1 });
    const disk = new SimDisk({ clock: new SimClock(queue) });
    await queue.complete(disk.makeDirectory('/case'));
    await queue.complete(run(disk, '/case'));
  });
}

function newDisk(seed: number, options: Partial<SimDiskOptions> = {}) {
  const queue = new EventQueue({ seed });
  const clock = new SimClock(queue);
  return { queue, clock, disk: new SimDisk({ clock, ...options }) };
}

t.test('SimDisk.crash: operations of the dead → never end, not even refused; the restarted one works', async (t) => {
  const { queue, disk } = newDisk(1);
  const file = await queue.complete(disk.open('/f'));
  let ended = 0;
  const count = () => {
    ended++;
  };
  file.writeAt(0, Buffer.from('x')).then(count, count);
  disk.crash();
  file.readAt(0, Buffer.alloc(1)).then(count, count);
  disk.list('/').then(count, count);
  await queue.run();
  t.equal(ended, 0);
  t.equal(disk.isDead, true);
  await queue.complete(disk.boot().open('/g'));
});

t.test('SimDisk.kill: process gone, machine alive → what it wrote stays, unsynced; its lock is free', async (t) => {
  const { queue, disk } = newDisk(3);
  await queue.complete(disk.lock('/data'));
  const file = await queue.complete(disk.open('/f'));
  await queue.complete(file.writeAt(0, Buffer.from('x')));
  const second = disk.boot();
  await t.rejects(queue.complete(second.lock('/data')), { code: 'DISK_LOCKED' });
  disk.kill();
  await queue.complete(second.lock('/data'));
  t.equal(second.peek('/f')?.toString(), 'x');
  second.crash({ keep: 'none' });
  t.equal(second.boot().peek('/f'), undefined);
});

t.test('SimDisk: node stopped or paused → the disk works on, the node learns of it late or never', async (t) => {
  const { queue, clock, disk } = newDisk(1);
  const file = await queue.complete(disk.open('/f'));
  let written = false;
  void file.writeAt(0, Buffer.from('x')).then(() => {
    written = true;
  });
  clock.pause();
  await queue.run();
  t.equal(disk.peek('/f')?.toString(), 'x');
  t.equal(written, false);
  clock.resume();
  await queue.run();
  t.equal(written, true);
});

t.test('SimDisk.failNextSync → IO; a later sync that succeeds does not bring the lost write back', async (t) => {
  const lost = new Set<boolean>();
  for (let seed = 0; seed < 20; seed++) {
    const { queue, disk } = newDisk(seed);
    const file = await queue.complete(disk.open('/f'));
    await queue.complete(disk.syncDirectory('/'));
    await queue.complete(file.writeAt(0, Buffer.from('x')));
    disk.failNextSync();
    await t.rejects(queue.complete(file.sync()), { code: 'DISK_IO' });
    await queue.complete(file.sync());
    disk.crash({ keep: 'none' });
    lost.add(disk.boot().peek('/f')?.length === 0);
  }
  t.equal(lost.size, 2, 'lost in some runs, written in others');
});

t.test('SimDisk.failNextSync with syncEachWrite → the write is refused and not durable', async (t) => {
  const { queue, disk } = newDisk(1);
  const file = await queue.complete(disk.open('/f', { syncEachWrite: true }));
  await queue.complete(disk.syncDirectory('/'));
  disk.failNextSync();
  await t.rejects(queue.complete(file.writeAt(0, Buffer.from('x'))), { code: 'DISK_IO' });
  disk.crash({ keep: 'none' });
  t.equal(disk.boot().peek('/f')?.length, 0);
});

t.test('SimDisk.failNextRead and failNextWrite → one IO each', async (t) => {
  const { queue, disk } = newDisk(1);
  const file = await queue.complete(disk.open('/f'));
  disk.failNextWrite();
  await t.rejects(queue.complete(file.writeAt(0, Buffer.from('x'))), { code: 'DISK_IO' });
  await queue.complete(file.writeAt(0, Buffer.from('x')));
  disk.failNextRead();
  await t.rejects(queue.complete(file.readAt(0, Buffer.alloc(1))), { code: 'DISK_IO' });
  t.equal(await queue.complete(file.readAt(0, Buffer.alloc(1))), 1);
});

t.test('SimDisk: capacity reached → FULL with a part or nothing written, overwriting works, removing frees', async (t) => {
  const lengths = new Set<number>();
  for (let seed = 0; seed < 20; seed++) {
    const { queue, disk } = newDisk(seed, { capacityBytes: 1000 });
    const file = await queue.complete(disk.open('/f'));
    await queue.complete(file.writeAt(0, Buffer.alloc(600)));
    const other = await queue.complete(disk.open('/g'));
    await t.rejects(queue.complete(other.writeAt(0, Buffer.alloc(500))), { code: 'DISK_FULL' });
    lengths.add(await queue.complete(other.bytes()));
    await queue.complete(file.writeAt(0, Buffer.alloc(600, 1)));
    await queue.complete(disk.remove('/f'));
    await queue.complete(other.writeAt(0, Buffer.alloc(1000)));
    t.same(await queue.complete(disk.usage('/')), { totalBytes: 1000, freeBytes: 0 });
    disk.setCapacityBytes(2000);
    t.same(await queue.complete(disk.usage('/')), { totalBytes: 2000, freeBytes: 1000 });
  }
  t.same(
    [...lengths].sort((a, b) => a - b),
    [0, 400],
  );
});

t.test('SimDisk.flipBit: durable or not → read back flipped, also after sync and crash', async (t) => {
  const { queue, disk } = newDisk(1);
  const file = await queue.complete(disk.open('/f'));
  await queue.complete(disk.syncDirectory('/'));
  await queue.complete(file.writeAt(0, Buffer.from([0, 0])));
  t.equal(disk.flipBit('/f', 1, 3), true);
  t.equal(disk.flipBit('/f', 2), false);
  t.equal(disk.flipBit('/none', 0), false);
  await queue.complete(file.sync());
  disk.flipBit('/f', 0, 0);
  disk.crash({ keep: 'none' });
  t.same(disk.boot().peek('/f'), Buffer.from([1, 8]));
});

t.test('SimDisk.flipRandomBit and writeFlipChance → exactly one bit differs', async (t) => {
  const { queue, disk } = newDisk(1);
  t.equal(disk.flipRandomBit(), false);
  const file = await queue.complete(disk.open('/f'));
  await queue.complete(file.writeAt(0, Buffer.alloc(100)));
  t.equal(
    disk.flipRandomBit((path) => path === '/g'),
    false,
  );
  t.equal(disk.flipRandomBit(), true);
  t.equal(bitsSet(disk.peek('/f')), 1);
  disk.setFaults({ writeFlipChance: 1 });
  await queue.complete(file.writeAt(0, Buffer.alloc(100)));
  t.equal(bitsSet(disk.peek('/f')), 1);
});

t.test('SimDisk.stallFor and stallChance → operations end late', async (t) => {
  const { queue, disk } = newDisk(1);
  disk.stallFor(500);
  await queue.complete(disk.open('/f'));
  t.equal(queue.nowMs, 500);
  disk.setFaults({ stallChance: 1, stallMs: { from: 1000, to: 1000 } });
  await queue.complete(disk.open('/f'));
  t.ok(queue.nowMs > 1500);
});

t.test('SimDisk: hooks → see each operation before and after its effect, may crash at either', async (t) => {
  const { queue, disk } = newDisk(1);
  const seen: string[] = [];
  disk.beforeOperation = ({ kind, path }) => seen.push(`before ${kind} ${path} ${disk.peek('/f')?.length}`);
  disk.afterOperation = ({ kind, path }) => seen.push(`after ${kind} ${path} ${disk.peek('/f')?.length}`);
  const file = await queue.complete(disk.open('/f', { syncEachWrite: true }));
  await queue.complete(file.writeAt(0, Buffer.from('abc')));
  t.same(seen, ['before open /f undefined', 'after open /f 0', 'before write /f 0', 'after write /f 3']);
  t.equal(disk.operationsCount, 2);
  let stopped = false;
  disk.onCrash = () => {
    stopped = true;
  };
  await queue.complete(disk.syncDirectory('/'));
  disk.afterOperation = () => disk.crash({ keep: 'none' });
  void file.writeAt(0, Buffer.from('x')).then(() => t.fail('the dead learn nothing'));
  await queue.run();
  t.equal(stopped, true);
  t.equal(disk.boot().peek('/f')?.toString(), 'xbc', 'durable, though its writer was never told');
});

t.test('SimDisk: a file pre-filled with zeros → read back as zeros of that length', async (t) => {
  const { queue, disk } = newDisk(1);
  const file = await queue.complete(disk.open('/f'));
  await queue.complete(file.writeAt(0, Buffer.alloc(1_000_000)));
  await queue.complete(file.writeAt(500_000, Buffer.from('x')));
  t.same(disk.peek('/f'), patchedZeros(1_000_000, 500_000));
});

function patchedZeros(bytes: number, at: number): Buffer {
  const out = Buffer.alloc(bytes);
  out[at] = 'x'.charCodeAt(0);
  return out;
}

function bitsSet(bytes: Buffer | undefined): number {
  let count = 0;
  for (const byte of bytes ?? []) for (let bit = 0; bit < 8; bit++) count += (byte >>> bit) & 1;
  return count;
}
