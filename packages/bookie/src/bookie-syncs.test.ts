import { diskErrors } from '@daybook/runtime';
import type { DiskOperation } from '@daybook/runtime/sim';
import t from 'tap';
import type { Bookie } from './bookie-api.js';
import { entryOf } from './testing/batches.js';
import { SimBookie } from './testing/sim-bookie.js';

const limits = { logBytesMax: 6 * 1024, journalFileBytesMax: 16 * 1024, diskCheckIntervalMs: 2000, readAheadBytes: 0, scrubIntervalMs: 0 };
const ledgerDirectories = ['/data/one', '/data/two'];
const directoriesOf = {
  one: { ledgerDirectories: ['/data/one'], journalDirectories: ['/data/journal'] },
  several: { ledgerDirectories, journalDirectories: ['/data/journal'] },
};

async function append(sim: SimBookie, first: number): Promise<string[]> {
  const codes: string[] = [];
  for (let ledger = 1; ledger <= 4; ledger++) codes.push(await sim.append({ ledger, first, count: 10, bytes: 100 }));
  return codes;
}

async function checkAll(sim: SimBookie, end: number): Promise<void> {
  for (let ledger = 1; ledger <= 4; ledger++) {
    for (let id = 0; id < end; id++) {
      const { code, entries } = await sim.read(ledger, [id]);
      if (code !== 'OK' || !entries[0]?.equals(entryOf(ledger, id, 100))) t.fail(`entry ${id} of ledger ${ledger}: ${code}`);
    }
  }
}

const isSync = ({ kind }: DiskOperation): boolean => kind === 'sync' || kind === 'sync-directory';
const directoryOf = (path: string): string => ledgerDirectories.find((directory) => path.startsWith(directory)) ?? '/data/journal';

/** A life that syncs everything there is: flushes, sealed logs, checkpoints, markers, the reserve, an index and a header that are mended. */
async function life(sim: SimBookie): Promise<void> {
  const bookie = sim.bookie as Bookie;
  for (let first = 10; first < 50; first += 10) {
    await append(sim, first);
    await sim.settle(bookie.flush());
  }
  await sim.settle(bookie.setReadOnly(true).catch(() => undefined));
  await sim.settle(bookie.setReadOnly(false).catch(() => undefined));
  for (const directory of ledgerDirectories) {
    for (const name of await sim.queue.complete(sim.disk.list(directory))) {
      if (/\.(log|idx)$/.test(name)) sim.disk.flipBit(`${directory}/${name}`, 8, 1);
    }
  }
  await sim.settle(bookie.scrub().catch(() => undefined));
  await sim.settle(bookie.checkDisks());
  await sim.queue.runFor(5000);
}

/**
 * Fails the `failing`th sync after the start. Resolves to the directory of it, and to what was written or synced there afterwards; undefined when there were
 * fewer syncs.
 */
async function failOneSync(failing: number, kind: 'one' | 'several') {
  const sim = new SimBookie({ limits, config: directoriesOf[kind] });
  await sim.start();
  await append(sim, 0);
  let syncs = 0;
  let failed: string | undefined;
  const later: string[] = [];
  let failedAt = 0;
  sim.disk.beforeOperation = (operation) => {
    const { path } = operation;
    // What was under way is no second try.
    const isThere = failed !== undefined && directoryOf(path) === directoryOf(failed) && sim.queue.nowMs > failedAt + 5;
    if (isThere && (isSync(operation) || operation.kind === 'rename')) later.push(path);
    if (!isSync(operation) || failed !== undefined || syncs++ !== failing) return;
    failed = path;
    failedAt = sim.queue.nowMs;
    throw diskErrors.IO(path, 'the sync fails');
  };
  await life(sim);
  return failed === undefined ? undefined : { sim, directory: directoryOf(failed), path: failed, later };
}

for (const kind of ['one', 'several'] as const) {
  t.test(
    `every sync fails once, ${kind} ledger director${kind === 'one' ? 'y' : 'ies'} → it is never tried again there; nothing is lost`,
    async (t) => {
      const seen = new Set<string>();
      for (let failing = 0; ; failing++) {
        const outcome = await failOneSync(failing, kind);
        if (outcome === undefined) {
          t.ok(failing > 15, `${failing} syncs`);
          break;
        }
        const { sim, directory, path, later } = outcome;
        const isStopped = sim.fatal !== undefined;
        const isTakenOut = (sim.bookie as Bookie).status().directories.some((status) => status.path === directory && status.level === 'failed');
        seen.add(isStopped ? 'stopped' : 'taken out');
        if (isStopped === isTakenOut) t.fail(`sync ${failing} of ${path}: ${isStopped ? 'stopped and' : 'neither stopped nor'} taken out`);
        if (isStopped !== (kind === 'one' || directory === '/data/journal')) t.fail(`sync ${failing} of ${path}: ${isStopped}`);
        if (later.includes(path)) t.fail(`sync ${failing}: ${path} is synced again after it failed: ${later.join()}`);
        if (isTakenOut && later.length > 0) t.fail(`${path} failed, then ${later.join()}`);
        await sim.restart('none');
        // Indexes are made again.
        await sim.queue.runFor(60_000);
        await checkAll(sim, 10);
        await sim.close();
      }
      t.strictSame([...seen].sort(), kind === 'one' ? ['stopped'] : ['stopped', 'taken out']);
    },
  );
}
