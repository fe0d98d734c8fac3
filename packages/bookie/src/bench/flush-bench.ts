/**
 * What one flush costs after so many ledgers were written to: syncs by the kind of file, bytes, time.
 * `node packages/bookie/dist/bench/flush-bench.js DIRECTORY [ledgers] [entryBytes]`
 */
import { AppendBatchBuilder, createDigest, type EntryId, type LedgerId, masterKey } from '@daybook/proto';
import type { DiskFile, OpenOptions } from '@daybook/runtime';
import { RealClock, RealDisk } from '@daybook/runtime/real';
import { openBenchBookie } from './open-bench-bookie.js';

const [directory = '/tmp/daybook-flush-bench', ledgersCount = '100000', entryBytes = '100'] = process.argv.slice(2);
const clock = new RealClock();

/** Notes each sync and each directory that was synced; the journal's own are left out, they come with appends. */
class NotingDisk extends RealDisk {
  readonly syncs: string[] = [];

  override async open(path: string, options?: OpenOptions): Promise<DiskFile> {
    const file = await super.open(path, options);
    const { sync } = file;
    file.sync = () => {
      this.#note(path);
      return sync.call(file);
    };
    return file;
  }

  override syncDirectory(path: string): Promise<void> {
    this.#note(`${path}/`);
    return super.syncDirectory(path);
  }

  #note(path: string): void {
    this.syncs.push(path.slice(directory.length + 1));
  }
}

const disk = new NotingDisk();
const bookie = await openBenchBookie(directory, { disk, config: { flushIntervalMs: 3_600_000 } });
const password = Buffer.from('bench');
const key = masterKey(password);
const digest = createDigest('CRC32C', password);
const payload = Buffer.alloc(Number(entryBytes), 'x');

for (let next = 0; next < Number(ledgersCount); next += 1000) {
  const some = Array.from({ length: Math.min(1000, Number(ledgersCount) - next) }, (_, i) => {
    const ledgerId = (next + i) as LedgerId;
    const builder = new AppendBatchBuilder({ ledgerId, masterKey: key, isRecovery: false, digest, batchBytesLimit: 1 << 20 });
    builder.add(0 as EntryId, -1 as EntryId, payload.length, payload);
    return new Promise<void>((resolve, reject) => {
      bookie.service.append(builder.finish(), (code) => (code === 'OK' ? resolve() : reject(new Error(code))));
    });
  });
  await Promise.all(some);
}
disk.syncs.length = 0;
const startMs = clock.monoMs();
await bookie.flush();
const ms = Math.round(clock.monoMs() - startMs);
process.stdout.write(`flush ${JSON.stringify({ ledgers: Number(ledgersCount), ms, syncs: disk.syncs })}\n`);
await bookie.close();
