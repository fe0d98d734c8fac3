import { diskErrors } from '@daybook/runtime';
import { EventQueue, SimClock, SimDisk } from '@daybook/runtime/sim';
import t from 'tap';
import { CheckpointDirectories, isNewestKnown } from './checkpoint-directories.js';
import { LedgerDirectories } from './ledger-directories.js';

const ledgerDirectories = ['/a', '/b'];
const journalDirectories = ['/j', '/k'];

function make(journals: readonly string[] = journalDirectories) {
  const disk = new SimDisk({ clock: new SimClock(new EventQueue({ seed: 1 })) });
  const ledgers = new LedgerDirectories(disk, ledgerDirectories);
  return { ledgers, directories: new CheckpointDirectories(ledgers, journals) };
}

/** Which directories a write is refused in, and whether it counts; `undefined`: it does not, `false`: not all ledger directories have it. */
async function outcome(full: readonly string[], { failed = [] as string[], journals = journalDirectories, alsoInJournals = true } = {}) {
  const { directories } = make(journals);
  const written: string[] = [];
  const write = directories.write(
    async (path) => {
      if (failed.includes(path)) throw diskErrors.IO(path, 'broken');
      if (full.includes(path)) throw diskErrors.FULL(path);
      written.push(path);
    },
    { alsoInJournals },
  );
  const isInAll = await write.catch((error: unknown) => {
    if (!diskErrors.FULL.is(error)) throw error;
    return undefined;
  });
  return { isInAll, written };
}

t.test('checkpoint directories: write → counts only where every start finds it', async (t) => {
  const cases: readonly [full: string[], isInAll: boolean | undefined][] = [
    [[], true],
    [['/j'], true],
    [['/j', '/k'], true],
    [['/a'], false],
    [['/a', '/j'], false],
    [['/a', '/j', '/k'], undefined],
    [['/a', '/b'], undefined],
  ];
  for (const [full, isInAll] of cases) t.equal((await outcome(full)).isInAll, isInAll, full.join());
  t.equal((await outcome([], { failed: ['/a'] })).isInAll, false, 'a directory that fails has no copy');
  t.equal((await outcome(['/j', '/k'], { failed: ['/a'] })).isInAll, undefined, 'it may come back with an old one, and the other one fail');
  t.equal((await outcome(['/a'], { journals: ['/b'] })).isInAll, false, 'one directory for both');
  await t.rejects(outcome([], { failed: ['/j'] }), { code: 'BOOKIE_FAILED' }, 'a journal directory that fails stops the bookie');
});

t.test('checkpoint directories: write of something large → journal directories only when a ledger directory lacks it', async (t) => {
  t.strictSame((await outcome([], { alsoInJournals: false })).written, ['/a', '/b']);
  t.strictSame((await outcome(['/a'], { alsoInJournals: false })).written, ['/b', '/j', '/k']);
});

t.test(
  'checkpoint directories: every set that counts and every set that can be read, where that is enough to be sure → they have one in common',
  async (t) => {
    const all = [...ledgerDirectories, ...journalDirectories];
    const subsets = Array.from({ length: 16 }, (_, bits) => all.filter((_path, i) => (bits & (1 << i)) !== 0));
    let pairs = 0;
    for (const full of subsets) {
      const { isInAll, written } = await outcome(full);
      if (isInAll === undefined) continue;
      for (const unread of subsets) {
        const hidden = {
          inLedgers: unread.filter((path) => ledgerDirectories.includes(path)),
          inJournals: unread.filter((path) => journalDirectories.includes(path)),
        };
        // A start needs one ledger directory.
        if (hidden.inLedgers.length === 2 || !isNewestKnown(hidden)) continue;
        pairs++;
        if (!written.some((path) => !unread.includes(path))) t.fail(`written to ${written.join()}, not read: ${unread.join()}`);
      }
    }
    t.ok(pairs > 20, `${pairs} pairs`);
  },
);

t.test('checkpoint directories: read → what cannot be read is told; a journal directory too', async (t) => {
  const { directories, ledgers } = make();
  const seen: string[] = [];
  const unread = await directories.read(async (path) => {
    if (path === '/a' || path === '/k') throw diskErrors.IO(path, 'broken');
    seen.push(path);
  });
  t.strictSame(unread, { inLedgers: ['/a'], inJournals: ['/k'] });
  t.strictSame(seen, ['/b', '/j']);
  t.ok(ledgers.hasFailed('/a'));
});
