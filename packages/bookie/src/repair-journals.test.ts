import { SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { journalFileName } from './journal/journal-format.js';
import { endLimbo, inspectJournals, repairJournals, type StoppedBookie } from './repair-journals.js';
import { entryOf, testKey } from './testing/batches.js';
import { SimBookie } from './testing/sim-bookie.js';

const limits = { flushIntervalMs: 1_000_000, writeCacheBytesMax: 1 << 20, journalFileBytesMax: 16 * 1024, journalPrefillBytes: 4096 };
const journalDirectories = ['/data/journal0', '/data/journal1'];
const ledgerDirectories = ['/data/one', '/data/two'];

function stopped(sim: SimBookie): StoppedBookie {
  return { disk: sim.disk, journalDirectories, ledgerDirectories };
}

/** Entries 0 to 59 of ledgers 1 and 2, each batch of five its own commit, all in the journals only; then a power cut. */
async function filled(seed = 1): Promise<SimBookie> {
  const sim = new SimBookie({ seed, limits, config: { journalDirectories, ledgerDirectories } });
  await sim.start();
  for (let first = 0; first < 60; first += 5) for (const ledger of [1, 2]) await sim.append({ ledger, first, count: 5, bytes: 200 });
  sim.disk.crash({ keep: 'none' });
  sim.stoppedDisk();
  return sim;
}

async function found(sim: SimBookie, ledger: number): Promise<number[]> {
  const ids: number[] = [];
  for (let id = 0; id < 60; id++) {
    const { code, entries } = await sim.read(ledger, [id]);
    if (code === 'OK' && entries[0]?.equals(entryOf(ledger, id, 200))) ids.push(id);
    else t.equal(code, 'UNKNOWN_LEDGER_STATE', `entry ${id} of ledger ${ledger}`);
  }
  return ids;
}

const all = Array.from({ length: 60 }, (_, i) => i);

t.test('journals: nothing wrong → nothing to repair, nothing is written', async (t) => {
  const sim = await filled();
  const inspections = await sim.queue.complete(inspectJournals(stopped(sim)));
  t.strictSame(
    inspections.map(({ problems, lostBytes, recordsCount }) => [problems, lostBytes, recordsCount]),
    [
      [[], 0, 12],
      [[], 0, 12],
    ],
  );
  const before = await sim.queue.complete(sim.disk.list('/data/journal1'));
  const { incarnation } = sim.bookie?.identity ?? {};
  await sim.queue.complete(repairJournals(stopped(sim)));
  t.strictSame(await sim.queue.complete(sim.disk.list('/data/journal1')), before);
  await sim.start();
  t.equal(sim.bookie?.identity.incarnation, incarnation, 'the same disks');
  t.equal(sim.bookie?.isReadOnly, false);
  await sim.close();
});

t.test('journals: damaged record → no start; inspection says what is lost, repair gives up just that and answers nothing as absent', async (t) => {
  const random = new SimRandom('damage');
  for (let round = 0; round < 12; round++) {
    const sim = await filled(round);
    const path = `/data/journal1/${journalFileName(1 + (round % 2))}`;
    const first = round % 2 === 0 ? 10 : 50;
    const at = (sim.disk.peek(path) as Buffer).indexOf(`1/${first}/0.`) + (random.u32() % 150);
    sim.disk.flipBit(path, at, 1);
    await t.rejects(sim.start(), { code: 'BOOKIE_JOURNAL_CORRUPT', message: /daybook shell journal repair/ });
    sim.stoppedDisk();
    const [intact, damaged] = await sim.queue.complete(inspectJournals(stopped(sim)));
    t.strictSame(intact?.problems, []);
    t.equal(damaged?.problems.length, 1);
    const intactBefore = round % 2 === 0 ? 'entries 5 to 9 of ledger 1' : 'nothing';
    t.match(damaged?.problems[0], new RegExp(`after ${intactBefore}, before entries ${first + 5} to ${first + 9} of ledger 1`));
    t.strictSame(await sim.queue.complete(inspectJournals(stopped(sim))), [intact, damaged], 'looking changes nothing');
    await sim.queue.complete(repairJournals(stopped(sim)));
    t.ok(
      (await sim.queue.complete(sim.disk.list('/data/journal1'))).some((name) => name.endsWith('.damaged')),
      'the old file is kept',
    );
    const before = sim.bookie?.identity.incarnation;
    await sim.start();
    t.not(sim.bookie?.identity.incarnation, before, 'other disks, to those who wrote to it');
    t.strictSame(await found(sim, 2), all);
    t.strictSame(
      await found(sim, 1),
      all.filter((id) => id < first || id >= first + 5),
    );
    t.strictSame(sim.bookie?.status().readOnlyReasons, [{ kind: 'limbo' }]);
    t.equal((await sim.read(77, [0])).code, 'UNKNOWN_LEDGER_STATE');
    t.equal((await sim.fence(77, testKey)).code, 'UNKNOWN_LEDGER_STATE');
    t.equal(await sim.append({ ledger: 1, first: 100, count: 1 }), 'READ_ONLY');
    t.equal(await sim.append({ ledger: 1, first, count: 5, bytes: 200, isRecovery: true }), 'OK');
    await sim.close();
    sim.stoppedDisk();
    await sim.queue.complete(endLimbo(stopped(sim)));
    await sim.start();
    t.strictSame(await found(sim, 1), all);
    t.equal((await sim.read(1, [77])).code, 'NO_ENTRY');
    t.equal(await sim.append({ ledger: 3, first: 0, count: 1 }), 'OK');
    await sim.close();
  }
});

t.test('journals: header damaged, file missing in the middle or at the mark, end cut off → each is repaired', async (t) => {
  const damages: Record<string, (sim: SimBookie) => Promise<void> | undefined> = {
    header: async (sim) => void sim.disk.flipBit(`/data/journal1/${journalFileName(1)}`, 10, 1),
    'first file missing': (sim) => sim.queue.complete(sim.disk.remove(`/data/journal1/${journalFileName(1)}`)),
    'end cut off': async (sim) => {
      const path = `/data/journal1/${journalFileName(1)}`;
      const file = await sim.queue.complete(sim.disk.open(path));
      const end = (sim.disk.peek(path) as Buffer).length;
      await sim.queue.complete(file.truncate(end - 3000));
    },
  };
  for (const [name, damage] of Object.entries(damages)) {
    const sim = await filled();
    await damage(sim);
    await t.rejects(sim.start(), { code: /BOOKIE_JOURNAL_/, message: /daybook shell journal repair/ }, name);
    sim.stoppedDisk();
    const [, damaged] = await sim.queue.complete(repairJournals(stopped(sim)));
    t.ok((damaged?.problems.length ?? 0) > 0, name);
    await sim.start();
    t.strictSame(await found(sim, 2), all);
    const left = await found(sim, 1);
    if (name === 'header') t.strictSame(left, all, 'only the header was made anew');
    else t.ok(left.length >= 10 && left.length < 60, `${name}: ${left.length} entries are left`);
    await sim.close();
  }
});

t.test('journals: repair interrupted at every disk operation → done by the next one', async (t) => {
  for (let crashAt = 0; ; crashAt++) {
    const sim = await filled(crashAt);
    const path = `/data/journal1/${journalFileName(1)}`;
    sim.disk.flipBit(path, (sim.disk.peek(path) as Buffer).indexOf('1/5/0.'), 1);
    const repairing = repairJournals(stopped(sim));
    sim.disk.crashAfter(crashAt);
    await sim.settle(repairing);
    const isComplete = !sim.disk.isDead;
    sim.stoppedDisk();
    await sim.queue.complete(repairJournals(stopped(sim)));
    sim.disk.kill();
    await sim.start();
    const left = await found(sim, 1);
    const other = await found(sim, 2);
    if (left.length !== 55 || other.length !== 60) t.fail(`crash at ${crashAt}: ${left.length} and ${other.length} entries are left`);
    await sim.close();
    if (isComplete) {
      t.ok(crashAt > 20, `${crashAt} crash points`);
      return;
    }
  }
});

t.test('journals: repair of a bookie that runs → refused', async (t) => {
  const sim = await filled();
  await sim.start();
  const other = sim.disk.boot(sim.clock);
  await t.rejects(sim.queue.complete(repairJournals({ ...stopped(sim), disk: other })), { code: 'DISK_LOCKED' });
  await sim.close();
});
