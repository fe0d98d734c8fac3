import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import { AppendBatchBuilder, type BookieService, createDigest, type EntryId, type LedgerId, masterKey } from '@daybook/proto';
import { openView } from '../chaos/lose-bookie.js';
import { ChildProgram, pause, temporaryFolder, until } from '../chaos/processes.js';

/**
 * The memory of a bookie process that has many ledgers, while they are written and read over gRPC, against its caches plus 100 MiB:
 * `node test/dist/bench/many-ledgers.js [ledgers 100000] [entriesEach 10] [entryBytes 1024]`.
 */
const [ledgersCount = 100_000, entriesEach = 10, entryBytes = 1_024] = process.argv.slice(2).map(Number);
/** writeCacheMaxSizeMB, readCacheMaxSizeMB and ledgerCacheMaxSizeMB, as they are by default. */
const cachesMiB = 64 + 32 + 32;
const password = Buffer.from('bench');
const key = masterKey(password);
const digest = createDigest('CRC32C', password);
const payload = Buffer.alloc(entryBytes, 'a');

const zookeeper = await ZooKeeperServer.start();
const folder = temporaryFolder();
const metadata = `zk://${zookeeper.address}/daybook`;
const ports = ['--port', '0', '--http-port', '0'];
// With the option that the command itself starts Node with.
const daybook = ['--max-semi-space-size=8', fileURLToPath(new URL('../../../packages/cli/bin/daybook.js', import.meta.url))];
const bookie = new ChildProgram(process.execPath, [
  ...daybook,
  'bookie',
  '--metadata',
  metadata,
  '--data',
  folder.path,
  '--bookie-id',
  'b1',
  ...ports,
]);

// Whatever ends it ends what it started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void zookeeper.stop().finally(() => process.exit(1)));

function memoryMiB(): { now: number; peak: number } {
  const status = readFileSync(`/proc/${bookie.pid}/status`, 'utf8');
  const of = (name: string): number => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024);
  return { now: of('VmRSS'), peak: of('VmHWM') };
}

function cpuSeconds(): number {
  const fields = readFileSync(`/proc/${bookie.pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function report(what: string): void {
  console.log(`${what}: ${JSON.stringify(memoryMiB())} MiB, ${cpuSeconds()} s of CPU (load ${(loadavg()[0] as number).toFixed(1)})`);
}

async function appendTo(service: BookieService, ledgerId: number, first: number, count: number): Promise<void> {
  const builder = new AppendBatchBuilder({ ledgerId: ledgerId as LedgerId, masterKey: key, isRecovery: false, digest, batchBytesLimit: 1 << 22 });
  for (let i = first; i < first + count; i++) builder.add(i as EntryId, (i - 1) as EntryId, (i + 1) * entryBytes, payload);
  for (;;) {
    const batch = builder.finish();
    const code = await new Promise<string>((resolve) => service.append(batch, resolve));
    if (code === 'OK') return;
    throw new Error(`ledger ${ledgerId}: ${code}`);
  }
}

/** Many at a time, as many clients would. */
async function forAll(task: (ledgerId: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < ledgersCount) await task(next++);
  };
  await Promise.all(Array.from({ length: 64 }, worker));
}

try {
  await until('the bookie is ready', 30_000, () => bookie.output.includes('is ready'));
  report('empty');
  const view = await openView(metadata);
  await until('the bookie is registered', 30_000, () => view.registry.list().length > 0);
  const service = view.pool.get(view.registry.list()[0]?.bookieId as never)?.service as BookieService;
  const half = Math.ceil(entriesEach / 2);
  await forAll((ledgerId) => appendTo(service, ledgerId, 0, half));
  report(`${half} entries of ${entryBytes} B in each of ${ledgersCount} ledgers`);
  if (entriesEach > half) await forAll((ledgerId) => appendTo(service, ledgerId, half, entriesEach - half));
  report(`${entriesEach} entries in each`);
  await forAll(async (ledgerId) => {
    const entryIds = Array.from({ length: entriesEach }, (_, i) => i as EntryId);
    const { code, entries } = await service.read({ ledgerId: ledgerId as LedgerId, entryIds, bytesMax: 1 << 20 });
    if (code !== 'OK' || entries.length !== entriesEach) throw new Error(`ledger ${ledgerId}: ${code}, ${entries.length} entries`);
  });
  report('all read');
  await pause(15_000);
  report('15 s later');
  const allowed = Math.round((cachesMiB + 100) * 1.2);
  console.log(`caches ${cachesMiB} MiB + 100 MiB, and 20 % more: ${allowed} MiB; the most was ${memoryMiB().peak} MiB`);
  await view.close();
} finally {
  await bookie.kill9();
  await zookeeper.stop();
  folder.remove();
}
process.exit(0);
