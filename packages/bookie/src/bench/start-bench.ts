/**
 * How long the start of a bookie with many large entry logs takes, and what it costs in memory; the logs are sparse files.
 * `node packages/bookie/dist/bench/start-bench.js DIRECTORY [logs] [ledgersPerLog] [MiBPerLog]`. The first start finds no ledger maps and makes them.
 */
import type { EntryId, LedgerId } from '@daybook/proto';
import { RealClock, RealDisk } from '@daybook/runtime/real';
import type { Bookie } from '../bookie-api.js';
import { entryOf } from '../testing/batches.js';
import { entriesPerRun, makeSparseLogs, sparsePayloadBytes } from '../testing/sparse-logs.js';
import { openBenchBookie } from './open-bench-bookie.js';

const [directory = '/tmp/daybook-start-bench', logs = '1000', ledgers = '1000', mib = '100'] = process.argv.slice(2);
const clock = new RealClock();
const disk = new RealDisk();
const size = { logsCount: Number(logs), ledgersCount: Number(ledgers), logBytes: Number(mib) * 1024 * 1024 };
const ledgerDirectory = `${directory}/ledgers`;

async function open(what: string): Promise<Bookie> {
  const startMs = clock.monoMs();
  const bookie = await openBenchBookie(directory, { disk });
  const startedMs = Math.round(clock.monoMs() - startMs);
  global.gc?.();
  process.stdout.write(`${what} ${JSON.stringify({ startedMs, rssMiB: Math.round(process.memoryUsage().rss / 1048576) })}\n`);
  return bookie;
}

async function readSome(bookie: Bookie): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < 200; i++) {
    const id = (((i * 7919) % size.logsCount) * entriesPerRun + (i % entriesPerRun)) as EntryId;
    const startMs = clock.monoMs();
    const reply = await bookie.service.read({ ledgerId: 0 as LedgerId, entryIds: [id], bytesMax: 1 << 20 });
    times.push(clock.monoMs() - startMs);
    if (!reply.entries[0]?.equals(entryOf(0, id, sparsePayloadBytes(size)))) throw new Error(`entry ${id}: ${reply.code}`);
  }
  times.sort((a, b) => a - b);
  process.stdout.write(`read ${JSON.stringify({ medianMs: times[100]?.toFixed(3), maxMs: times.at(-1)?.toFixed(3) })}\n`);
}

await (await open('empty')).close();
await makeSparseLogs({ disk, ledgerDirectory, ...size });
const first = await open('first');
await readSome(first);
await first.close();
const again = await open('again');
await readSome(again);
const startMs = clock.monoMs();
await again.garbageCollector.force({ minor: false, major: false });
process.stdout.write(`collect ${JSON.stringify({ ms: Math.round(clock.monoMs() - startMs) })}\n`);
await again.close();
