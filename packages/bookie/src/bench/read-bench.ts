/**
 * Reads of one bookie through its service, in this process, on a real disk:
 * `node packages/bookie/dist/bench/read-bench.js DIRECTORY [megabytes] [turns] [gigabytes]`
 *
 * - in order, 200 entries of 1 KiB a request: warm (from the page cache) and cold (a bookie just started, and its files dropped from the page cache: `dd
 *   oflag=nocache`, which calls `posix_fadvise(DONTNEED)`);
 * - single entries at random places of a store of so many gigabytes (default 10, of 1,000 ledgers): reads of the disk are counted.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { AppendBatchBuilder, createDigest, type EntryId, type LedgerId, masterKey } from '@daybook/proto';
import { below, type DiskFile, type OpenOptions } from '@daybook/runtime';
import { RealClock, RealDisk, RealRandom } from '@daybook/runtime/real';
import type { Bookie } from '../bookie-api.js';
import { openBenchBookie } from './open-bench-bookie.js';

const [directory = '/tmp/daybook-read-bench', megabytes = '500', turns = '5', gigabytes = '10'] = process.argv.slice(2);
const clock = new RealClock();
const run = promisify(execFile);
const payloadBytes = 1024;
const perRequest = 200;
const ledgersCount = 1_000;
const perBatch = 64;
const singleReads = 20_000;
const source = new RealRandom();
const password = Buffer.from('bench');
const payload = Buffer.alloc(payloadBytes, 'x');
const digest = createDigest('CRC32C', password);

/** Counts reads by the suffix of the file. */
class CountingDisk extends RealDisk {
  readonly reads: Record<string, number> = {};

  override async open(path: string, options?: OpenOptions): Promise<DiskFile> {
    const file = await super.open(path, options);
    const { readAt } = file;
    const suffix = /\.([a-z]+)$/.exec(path)?.[1] ?? 'other';
    file.readAt = (position, target) => {
      this.reads[suffix] = (this.reads[suffix] ?? 0) + 1;
      return readAt.call(file, position, target);
    };
    return file;
  }

  clear(): void {
    for (const suffix of Object.keys(this.reads)) delete this.reads[suffix];
  }
}

const disk = new CountingDisk();

const open = (folder: string): Promise<Bookie> => openBenchBookie(folder, { disk });

function newBuilder(ledger: number): AppendBatchBuilder {
  return new AppendBatchBuilder({
    ledgerId: ledger as LedgerId,
    masterKey: masterKey(password),
    isRecovery: false,
    digest,
    batchBytesLimit: 1 << 30,
  });
}

function append(bookie: Bookie, builder: AppendBatchBuilder, first: number, count: number): Promise<void> {
  for (let next = first; next < first + count; next++) builder.add(next as EntryId, (next - 1) as EntryId, next * payloadBytes, payload);
  return new Promise((resolve, reject) => {
    bookie.service.append(builder.finish(), (code) => (code === 'OK' ? resolve() : reject(new Error(code))));
  });
}

async function write(bookie: Bookie, count: number): Promise<void> {
  const builder = newBuilder(0);
  for (let next = 0; next < count; ) {
    const some: Promise<void>[] = [];
    for (let i = 0; i < 8 && next < count; i++) {
      const now = Math.min(256, count - next);
      some.push(append(bookie, builder, next, now));
      next += now;
    }
    await Promise.all(some);
  }
  await bookie.flush();
}

async function readInOrder(bookie: Bookie, count: number): Promise<number> {
  const startMs = clock.monoMs();
  for (let next = 0; next < count; ) {
    const entryIds = Array.from({ length: Math.min(perRequest, count - next) }, (_, i) => (next + i) as EntryId);
    const reply = await bookie.service.read({ ledgerId: 0 as LedgerId, entryIds, bytesMax: 1 << 20 });
    if (reply.code !== 'OK') throw new Error(reply.code);
    next += reply.entries.length;
  }
  return Math.round((count * payloadBytes) / ((clock.monoMs() - startMs) * 1000));
}

async function dropFromPageCache(folder: string): Promise<void> {
  await run('sync', []);
  for (const name of await disk.list(folder)) {
    const path = `${folder}/${name}`;
    if ((await disk.fileBytes(path)) === undefined) continue;
    await run('dd', [`of=${path}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none']);
  }
}

function report(what: string, values: object): void {
  process.stdout.write(`${what} ${JSON.stringify(values)}\n`);
}

async function sequential(): Promise<void> {
  const folder = `${directory}/sequential`;
  const count = Math.floor((Number(megabytes) * 1e6) / payloadBytes);
  let bookie = await open(folder);
  await write(bookie, count);
  const rates: Record<'warm' | 'cold', number[]> = { warm: [], cold: [] };
  for (let turn = 0; turn < Number(turns); turn++) {
    rates.warm.push(await readInOrder(bookie, count));
    await bookie.close();
    await dropFromPageCache(`${folder}/ledgers`);
    bookie = await open(folder);
    rates.cold.push(await readInOrder(bookie, count));
  }
  await bookie.close();
  report('MB/s in order', rates);
}

async function random(): Promise<void> {
  const folder = `${directory}/random`;
  const bookie = await open(folder);
  const each = Math.ceil((Number(gigabytes) * 1e9) / payloadBytes / ledgersCount);
  const writers = Array.from({ length: ledgersCount }, (_, ledger) => newBuilder(ledger));
  for (let next = 0; next < each; next += perBatch) {
    const count = Math.min(perBatch, each - next);
    for (let ledger = 0; ledger < ledgersCount; ledger += 16) {
      await Promise.all(writers.slice(ledger, ledger + 16).map((builder) => append(bookie, builder, next, count)));
    }
  }
  await bookie.flush();
  // In a bookie that has just come up everything is on disk; the block tables of the logs (28 bytes for 8 KiB of index) are read with the first look-ups.
  await bookie.close();
  const again = await open(folder);
  const pick = () => ({ ledger: below(source, ledgersCount), entry: below(source, each) as EntryId });
  for (let i = 0; i < singleReads / 10; i++) await readOne(again, pick());
  const mostForOne: Record<string, number> = {};
  const total: Record<string, number> = {};
  for (let i = 0; i < singleReads; i++) {
    disk.clear();
    await readOne(again, pick());
    for (const [suffix, count] of Object.entries(disk.reads)) {
      mostForOne[suffix] = Math.max(mostForOne[suffix] ?? 0, count);
      total[suffix] = (total[suffix] ?? 0) + count;
    }
  }
  report('single reads at random', { entries: singleReads, storeEntries: each * ledgersCount, readsOfDisk: total, mostForOne });
  await again.close();
}

async function readOne(bookie: Bookie, { ledger, entry }: { ledger: number; entry: EntryId }): Promise<void> {
  const reply = await bookie.service.read({ ledgerId: ledger as LedgerId, entryIds: [entry], bytesMax: 1 << 20 });
  if (reply.code !== 'OK') throw new Error(`entry ${entry} of ledger ${ledger}: ${reply.code}`);
}

await sequential();
await random();
