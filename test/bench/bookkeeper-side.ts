import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { dropFromPageCache } from './page-cache.js';
import type { Side } from './side.js';
import { TurnWorker } from './turn-worker.js';

const run = promisify(execFile);
const source = fileURLToPath(new URL('../../bench/LedgerTurns.java', import.meta.url));
const metadata = 'zk+hierarchical://127.0.0.1:12181/ledgers';

/**
 * Apache BookKeeper with its own defaults, from a folder with `lib/` (its jars), `start.sh` and `stop.sh`, which take the names zk, init, b1, b2, ...; bookie
 * `b1` listens on port 13181.
 */
export async function startBookKeeper(folder: string, bookiesCount: number): Promise<Side> {
  const classes = mkdtempSync(join(tmpdir(), 'daybook-bench-'));
  await run('javac', ['-nowarn', '-cp', `${folder}/lib/*`, '-d', classes, source]);
  const name = `bench-${process.pid}`;
  const env = { ...process.env, RUN: name };
  const all = Array.from({ length: bookiesCount }, (_, i) => `b${i + 1}`);
  const call = async (script: string, ...words: string[]): Promise<void> => {
    // Its servers keep the pipes open: they go to nowhere.
    await run('bash', ['-c', `"$0" "$@" >/dev/null 2>&1`, join(folder, script), ...words], { env });
  };
  await call('start.sh', 'zk', 'init', ...all);
  const down = new Set<string>();
  const opens = ['java.nio', 'jdk.internal.misc', 'java.io', 'java.util.zip'].map((part) => `--add-opens=java.base/${part}=ALL-UNNAMED`);
  const netty = ['-Dlog4j2.level=OFF', '-Dio.netty.leakDetectionLevel=disabled', '-Dio.netty.tryReflectionSetAccessible=true'];
  const side: Side = {
    name: 'BookKeeper',
    worker: () =>
      new TurnWorker('java', [
        '-Xms256m',
        '-Xmx1g',
        ...netty,
        '-Djava.net.preferIPv4Stack=true',
        ...opens,
        '-cp',
        `${classes}:${folder}/lib/*`,
        'LedgerTurns',
        metadata,
      ]),
    killBookie: async (id) => {
      const bookie = `b${id.at(-1)}`;
      down.add(bookie);
      await call('stop.sh', '-9', bookie);
    },
    startBookies: async () => {
      if (down.size > 0) await call('start.sh', ...down);
      down.clear();
    },
    coolDown: async () => {
      await call('stop.sh', ...all);
      await dropFromPageCache(join(folder, 'data', name));
      await call('start.sh', ...all);
    },
    end: async () => {
      await call('stop.sh');
      rmSync(join(folder, 'data', name), { recursive: true, force: true });
      rmSync(classes, { recursive: true, force: true });
    },
  };
  return side;
}
