import { fileURLToPath } from 'node:url';
import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import { DaybookProcess, freePort, temporaryFolder, until } from '../chaos/processes.js';
import { dropFromPageCache } from './page-cache.js';
import type { Side } from './side.js';
import { TurnWorker } from './turn-worker.js';

const program = fileURLToPath(new URL('./ledger-turns.js', import.meta.url));

/** Bookies as `daybook bookie` starts them, with their defaults. */
export async function startDaybook(bookiesCount: number): Promise<Side> {
  const zookeeper = await ZooKeeperServer.start();
  const folder = temporaryFolder();
  const metadata = `zk://${zookeeper.address}/daybook`;
  const bookies = new Map<string, { words: string[]; process: DaybookProcess | undefined }>();
  for (let i = 1; i <= bookiesCount; i++) {
    const ports = ['--port', String(await freePort()), '--http-port', String(await freePort())];
    const words = ['bookie', '--metadata', metadata, '--data', `${folder.path}/b${i}`, '--bookie-id', `b${i}`, ...ports];
    bookies.set(`b${i}`, { words: [...words, '--set', 'metadataSessionTimeoutMs=10000'], process: undefined });
  }
  const side: Side = {
    name: 'Daybook',
    worker: () => new TurnWorker(process.execPath, [program, metadata]),
    killBookie: async (name) => await bookies.get(name)?.process?.kill9(),
    startBookies: async () => {
      for (const bookie of bookies.values()) if (bookie.process?.isRunning !== true) bookie.process = new DaybookProcess(bookie.words);
      for (const [name, { process: bookie }] of bookies) await until(`${name} is ready`, 60_000, () => bookie?.output.includes('is ready') === true);
    },
    coolDown: async () => {
      for (const { process: bookie } of bookies.values()) await bookie?.stop();
      await dropFromPageCache(folder.path);
      await side.startBookies();
    },
    end: async () => {
      await Promise.all([...bookies.values()].map(({ process: bookie }) => bookie?.kill9()));
      await zookeeper.stop();
      folder.remove();
    },
  };
  await side.startBookies();
  return side;
}
