/**
 * Entries per second of one bookie through its service, in this process, on a real disk:
 * `node packages/bookie/dist/bench/append-bench.js DIRECTORY [entries] [entryBytes] [entriesPerBatch] [batchesInFlight]`.
 */
import { type AppendBatch, AppendBatchBuilder, createDigest, type EntryId, ledgerId, masterKey } from '@daybook/proto';
import { createLogger } from '@daybook/runtime';
import { RealClock } from '@daybook/runtime/real';
import { openBenchBookie } from './open-bench-bookie.js';

const [directory = '/tmp/daybook-append-bench', entries = '1000000', entryBytes = '1024', perBatch = '256', inFlight = '16'] = process.argv.slice(2);
const clock = new RealClock();
const bookie = await openBenchBookie(directory, { logger: createLogger({ clock }) });

const password = Buffer.from('bench');
const ledger = ledgerId(Math.floor(clock.wallMs()));
const builder = new AppendBatchBuilder({
  ledgerId: ledger,
  masterKey: masterKey(password),
  isRecovery: false,
  digest: createDigest('CRC32C', password),
  batchBytesLimit: 1 << 30,
});
const payload = Buffer.alloc(Number(entryBytes), 'x');
const total = Number(entries);
let next = 0;

function nextBatch(): AppendBatch {
  for (let i = 0; i < Number(perBatch); i++, next++) builder.add(next as EntryId, (next - 1) as EntryId, next * payload.length, payload);
  return builder.finish();
}

const startMs = clock.monoMs();
const cpuBefore = process.cpuUsage();
await new Promise<void>((resolve, reject) => {
  let open = 0;
  const fill = (): void => {
    while (open < Number(inFlight) && next < total) {
      open++;
      bookie.service.append(nextBatch(), (code) => {
        open--;
        if (code !== 'OK') reject(new Error(code));
        else if (open === 0 && next >= total) resolve();
        else fill();
      });
    }
  };
  fill();
});
const seconds = (clock.monoMs() - startMs) / 1000;
const cpu = process.cpuUsage(cpuBefore);
const report = {
  entries: next,
  entriesPerSecond: Math.round(next / seconds),
  megabytesPerSecond: Math.round((next * payload.length) / seconds / 1e6),
  cpuMicrosecondsPerEntry: Number(((cpu.user + cpu.system) / next).toFixed(2)),
  rssMiB: Math.round(process.memoryUsage().rss / 1048576),
};
process.stdout.write(`append ${JSON.stringify(report)}\n`);
await bookie.flush();

const readStartMs = clock.monoMs();
let read = 0;
for (let id = 0; id < next; ) {
  const entryIds = Array.from({ length: Math.min(200, next - id) }, (_, i) => (id + i) as EntryId);
  const reply = await bookie.service.read({ ledgerId: ledger, entryIds, bytesMax: 1 << 20 });
  if (reply.code !== 'OK') throw new Error(reply.code);
  id += reply.entries.length;
  read += reply.entries.length;
}
const readSeconds = (clock.monoMs() - readStartMs) / 1000;
process.stdout.write(`read ${JSON.stringify({ entries: read, megabytesPerSecond: Math.round((read * payload.length) / readSeconds / 1e6) })}\n`);
await bookie.close();
