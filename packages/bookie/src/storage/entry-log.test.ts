import { EventQueue, SimClock, SimDisk } from '@daybook/runtime/sim';
import t from 'tap';
import { OpenLog } from './entry-log.js';
import { logFileName, logHeaderBytes } from './entry-log-format.js';

function make() {
  const queue = new EventQueue({ seed: 1 });
  const disk = new SimDisk({ clock: new SimClock(queue) });
  const place = { disk, directory: '/data', logId: 7, isCompacted: false, syncStepBytes: 1 << 20, isWritable: () => true };
  return { queue, disk, place };
}

for (const [name, fill] of [
  ['nothing was ever written to', async () => {}],
  [
    'what was written to was not committed',
    async (log: OpenLog) => {
      await log.write(Buffer.alloc(1000, 1));
      await log.trim();
    },
  ],
  [
    'a commit was declined of',
    async (log: OpenLog) => {
      await log.write(Buffer.alloc(1000, 1));
      await log.commit([], () => false);
    },
  ],
] as const) {
  // A checkpoint names it from then on. Compaction seals such a log when it had no room for what it wanted to move there.
  t.test(`entry log: one that ${name} is sealed, and the power fails → its header is there`, async (t) => {
    const { queue, disk, place } = make();
    const work = async (): Promise<void> => {
      await disk.makeDirectory('/data');
      const log = await OpenLog.create(place);
      await fill(log);
      await log.seal();
    };
    await queue.complete(work());
    disk.crash({ keep: 'none' });
    const after = disk.boot();
    const bytes = await queue.complete(after.fileBytes(`/data/${logFileName(7)}`));
    t.ok(bytes !== undefined && bytes >= logHeaderBytes, `${bytes} bytes of ${logHeaderBytes}`);
  });
}
