/**
 * What compaction at its rate limit costs appends: entries per second of one bookie through its service, on a real disk, in windows with and without
 * compaction by turns; then a flush after 100,000 ledgers were written to.
 * `node packages/bookie/dist/bench/compaction-bench.js DIRECTORY [secondsPerWindow] [windows] [ledgers]`
 */
import { AppendBatchBuilder, type BookieCode, createDigest, type EntryId, type LedgerId, ledgerId, masterKey } from '@daybook/proto';
import type { DiskFile, OpenOptions } from '@daybook/runtime';
import { RealClock, RealDisk } from '@daybook/runtime/real';
import type { LedgerListing } from '../storage/deleted-ledgers.js';
import { openBenchBookie } from './open-bench-bookie.js';

const [directory = '/tmp/daybook-compaction-bench', seconds = '4', windows = '6', ledgersCount = '100000'] = process.argv.slice(2);
const payloadBytes = 1024;
const perBatch = 256;
const inFlight = 16;
const prefillLedgers = 10;
const prefillBytes = 1.2e9;
const clock = new RealClock();
const password = Buffer.from('bench');
const key = masterKey(password);
const digest = createDigest('CRC32C', password);
const payload = Buffer.alloc(payloadBytes, 'x');

/** Counts syncs by the suffix of the file. */
class CountingDisk extends RealDisk {
  readonly syncs = new Map<string, number>();

  override async open(path: string, options?: OpenOptions): Promise<DiskFile> {
    const file = await super.open(path, options);
    const { sync } = file;
    file.sync = () => {
      const suffix = /\.(log|idx)$/.exec(path)?.[1] ?? 'other';
      this.syncs.set(suffix, (this.syncs.get(suffix) ?? 0) + 1);
      return sync.call(file);
    };
    return file;
  }
}

/** Ledgers that exist. */
const known = new Set<number>();
const listing: LedgerListing = {
  async *list() {
    for (const id of [...known].sort((a, b) => a - b)) yield id as LedgerId;
  },
  read: async (id) => (known.has(id) ? ({ metadata: { state: 'OPEN' }, version: 0 } as never) : undefined),
};

const disk = new CountingDisk();
const bookie = await openBenchBookie(directory, {
  config: { bookieId: 'bench', logSizeLimit: 16 * 1024 * 1024, localScrubIntervalMs: 0 },
  limits: { gcLedgerAgeMsMin: 0 },
  disk,
  metadata: {
    instanceId: async () => 'bench',
    cookies: { read: async () => undefined, write: async () => undefined },
    ledgers: listing,
    register: async () => ({ setWritable: async () => undefined, close: async () => undefined }),
  },
});

class Writer {
  readonly #builder: AppendBatchBuilder;
  #next = 0;

  constructor(id: number) {
    known.add(id);
    this.#builder = new AppendBatchBuilder({ ledgerId: ledgerId(id), masterKey: key, isRecovery: false, digest, batchBytesLimit: 1 << 30 });
  }

  append(count: number, done: (code: BookieCode) => void, content = payload): void {
    for (let i = 0; i < count; i++, this.#next++) {
      this.#builder.add(this.#next as EntryId, (this.#next - 1) as EntryId, this.#next * content.length, content);
    }
    bookie.service.append(this.#builder.finish(), done);
  }
}

/** Appends by turns to the writers while `goesOn`, and resolves to the number of entries. */
function appendWhile(writers: readonly Writer[], goesOn: (entries: number) => boolean): Promise<number> {
  return new Promise((resolve, reject) => {
    let open = 0;
    let sent = 0;
    let turn = 0;
    const fill = (): void => {
      while (open < inFlight && goesOn(sent)) {
        open++;
        sent += perBatch;
        (writers[turn++ % writers.length] as Writer).append(perBatch, (code) => {
          open--;
          if (code !== 'OK') reject(new Error(code));
          else if (open === 0 && !goesOn(sent)) resolve(sent);
          else fill();
        });
      }
    };
    fill();
  });
}

function report(what: string, values: object): void {
  process.stdout.write(`${what} ${JSON.stringify(values)}\n`);
}

const { garbageCollector } = bookie;
const old = Array.from({ length: prefillLedgers }, (_, i) => new Writer(i + 1));
await appendWhile(old, (entries) => entries * payloadBytes < prefillBytes);
await bookie.flush();
for (const id of [2, 5, 8]) known.delete(id);
await garbageCollector.force({ minor: false, major: false });
report('sparse', { logs: garbageCollector.logs().length, deleted: garbageCollector.status().deletedLedgers });

const writer = [new Writer(1000)];
// The first seconds are faster: the disk's cache is empty.
const warmMs = clock.monoMs() + 2000 * Number(seconds);
await appendWhile(writer, () => clock.monoMs() < warmMs);
const rates: Record<'without' | 'with', number[]> = { without: [], with: [] };
let copiedBytes = 0;
for (let window = 0; window <= Number(windows) * 2; window++) {
  const kind = window % 2 === 0 ? 'without' : 'with';
  garbageCollector.resume(['major', 'minor']);
  const before = garbageCollector.status().compactions.major.copiedBytes;
  const compaction = kind === 'with' ? garbageCollector.force({ major: true }) : Promise.resolve();
  const startMs = clock.monoMs();
  const endMs = startMs + Number(seconds) * 1000;
  const entries = await appendWhile(writer, () => clock.monoMs() < endMs);
  rates[kind].push(Math.round(entries / ((clock.monoMs() - startMs) / 1000)));
  garbageCollector.suspend(['major', 'minor']);
  await compaction;
  copiedBytes += garbageCollector.status().compactions.major.copiedBytes - before;
}
/** Each window with compaction to those right before and after it: rates drift as the system's page cache fills up. The middle one counts. */
const ratios = rates.with.map((rate, i) => (2 * rate) / ((rates.without[i] as number) + (rates.without[i + 1] as number)));
const ratio = [...ratios].sort((a, b) => a - b)[Math.floor(ratios.length / 2)] as number;
const copiedMBps = copiedBytes / 1e6 / (Number(windows) * Number(seconds));
const { logs, lastOutcome } = garbageCollector.status().compactions.major;
report('appends per second', { ...rates, ratios: ratios.map((each) => Number(each.toFixed(3))), ratio: Number(ratio.toFixed(3)) });
report('compaction', { logs, megabytesPerSecond: Number(copiedMBps.toFixed(1)), lastOutcome: lastOutcome?.is });

await bookie.flush();
const tiny = Buffer.alloc(16, 'y');
for (let id = 0; id < Number(ledgersCount); id += 1000) {
  const some = Array.from({ length: Math.min(1000, Number(ledgersCount) - id) }, (_, i) => new Writer(10_000 + id + i));
  await Promise.all(some.map((one) => new Promise<void>((resolve) => one.append(1, () => resolve(), tiny))));
}
disk.syncs.clear();
const flushMs = clock.monoMs();
await bookie.flush();
report('flush', { ledgers: Number(ledgersCount), ms: Math.round(clock.monoMs() - flushMs), syncs: Object.fromEntries(disk.syncs) });
report('memory', { rssMiB: Math.round(process.memoryUsage().rss / 1048576) });
await bookie.close();
