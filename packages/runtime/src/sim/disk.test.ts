import t from 'tap';
import { diskCases } from '../disk-conformance.js';
import { SimClock } from './clock.js';
import { SimDisk } from './disk.js';
import { EventQueue } from './event-queue.js';

for (const { name, run } of diskCases) {
  t.test(`SimDisk: ${name}`, async () => {
    const queue = new EventQueue({ seed: 1 });
    const disk = new SimDisk({ clock: new SimClock(queue) });
    await queue.complete(disk.makeDirectory('/case'));
    await queue.complete(run(disk, '/case'));
  });
}
