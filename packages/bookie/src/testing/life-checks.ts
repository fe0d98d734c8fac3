import { strict as assert } from 'node:assert';
import type { SimDisk } from '@daybook/runtime/sim';
import type { GarbageCollector } from '../storage/gc.js';
import type { SimBookie } from './sim-bookie.js';

/**
 * Sees that no entry log gets the id of one that was removed after there were entries in it (rule R14), over all runs of a bookie. One that a full disk cut
 * off before its header was written never was.
 */
export class NoReuse {
  readonly #written = new Set<string>();
  readonly #removed = new Set<string>();

  watch(disk: SimDisk): void {
    disk.beforeOperation = ({ kind, path, position = 0 }) => {
      if (!path.endsWith('.log')) return;
      const name = path.slice(path.lastIndexOf('/') + 1);
      if (kind === 'remove' && this.#written.has(name)) this.#removed.add(name);
      if (kind !== 'write') return;
      assert.ok(!this.#removed.has(name), `log ${name} is written again after it was removed`);
      if (position > 0) this.#written.add(name);
    };
  }
}

/** After garbage collection and a major compaction: every sealed log is mostly live, what is not needed is at most a fifth of each. */
export function checkSpace(collector: GarbageCollector): void {
  const { failedLogs, suspended } = collector.status();
  assert.deepEqual(failedLogs, []);
  assert.deepEqual(suspended, { minor: false, major: false });
  for (const log of collector.logs()) {
    assert.notEqual(log.state, 'damaged');
    assert.ok(log.liveShare === undefined || log.liveShare >= 0.8, `log ${log.logId} (${log.state}) is live for ${log.liveShare} only`);
  }
}

/** Every file of a log belongs to a log that there is, and nothing half-made is left. */
export async function checkFiles(sim: SimBookie): Promise<void> {
  const known = new Set((sim.bookie?.garbageCollector.logs() ?? []).map(({ logId }) => logId.toString(16).padStart(16, '0')));
  const { directories } = sim.bookie?.status() ?? { directories: [] };
  for (const { path } of directories.filter(({ isLedgers }) => isLedgers)) {
    for (const name of await sim.queue.complete(sim.disk.list(path))) {
      assert.ok(!name.endsWith('.new'), `${path}/${name} is left over`);
      const [stem, suffix] = name.split('.') as [string, string?];
      if (suffix === 'log' || suffix === 'idx') assert.ok(known.has(stem), `${path}/${name} belongs to no log`);
    }
  }
}
