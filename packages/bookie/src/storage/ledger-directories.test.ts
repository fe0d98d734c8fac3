import { diskErrors, invariant } from '@daybook/runtime';
import { EventQueue, SimClock, SimDisk } from '@daybook/runtime/sim';
import t from 'tap';
import { bookieErrors } from '../errors.js';
import { LedgerDirectories } from './ledger-directories.js';

const broken = diskErrors.IO('/a/x', 'broken');
const paths = ['/a', '/b', '/c'];

function make() {
  const queue = new EventQueue({ seed: 1 });
  const disk = new SimDisk({ clock: new SimClock(queue) });
  const told: string[] = [];
  return { queue, disk, told, directories: new LedgerDirectories(disk, paths, ({ path }) => told.push(path)) };
}

t.test('ledger directories: one fails → taken out, told once; the last one never', async (t) => {
  const { directories, told } = make();
  t.equal(directories.takeOut('/a', broken), true);
  t.equal(directories.takeOut('/a', broken), true);
  t.strictSame(directories.working, ['/b', '/c']);
  const synced = bookieErrors.FAILED('a sync failed', { cause: broken });
  t.equal(directories.takeOut('/b', synced), true, 'a failed sync counts');
  t.equal(directories.takeOut('/c', broken), false);
  t.strictSame(told, ['/a', '/b']);
});

t.test('ledger directories: full disk, bug, unknown directory → not taken out', async (t) => {
  const { directories } = make();
  t.equal(directories.takeOut('/a', diskErrors.FULL('/a/x')), false);
  t.equal(directories.takeOut('/a', diskErrors.LOCKED('/a/lock')), false);
  t.equal(directories.takeOut('/journal', broken), false);
  let bug: unknown;
  try {
    invariant(false, 'a bug');
  } catch (error) {
    bug = error;
  }
  t.equal(directories.takeOut('/a', bug), false);
  t.strictSame(directories.working, paths);
});

t.test('ledger directories: something written in each → goes on where one fails', async (t) => {
  const { directories } = make();
  const done: string[] = [];
  await directories.each(async (path) => {
    if (path === '/a') throw broken;
    done.push(path);
  });
  t.strictSame(done, ['/b', '/c']);
});

t.test('ledger directories: next log → where there is room; a full one only when all are', async (t) => {
  const { directories, disk, queue } = make();
  for (const path of paths) await queue.complete(disk.makeDirectory(path));
  const emptiest = () => queue.complete(directories.emptiest());
  t.equal(directories.leaveFull('/a'), true);
  t.not(await emptiest(), '/a');
  t.equal(directories.leaveFull('/b'), true);
  t.equal(await emptiest(), '/c');
  t.equal(directories.leaveFull('/c'), false);
  t.ok(paths.includes(await emptiest()));
  directories.noteFull(new Set(['/a', '/c']));
  t.equal(await emptiest(), '/b');
  directories.takeOut('/b', broken);
  t.ok(['/a', '/c'].includes(await emptiest()));
});
