import { type AppendBatch, type BookieCode, type BookieId, type BookieService, type EntryId, ledgerId } from '@daybook/proto';
import { RealClock, RealRandom } from '@daybook/runtime/real';
import { BookiePool, createLedgerClient } from '../index.js';
import { MemoryBookie, MemoryRecordStore, MemoryRecords, MemoryRegistry } from '../testing/index.js';

/**
 * What the ledger writer itself costs: entries per second and CPU microseconds per entry against bookies in the same process.
 * `node packages/ledger/dist/bench/writer.js [payloadBytes] [inFlight] [seconds] [null|memory]`
 */
const [payloadBytes = 1024, inFlight = 1000, seconds = 3] = process.argv.slice(2, 5).map(Number);
const kind = process.argv[5] ?? 'null';
const clock = new RealClock();

/** Says OK in the next turn and keeps nothing: all that is measured is the writer. */
class NullBookie implements BookieService {
  readonly bookieId: BookieId;
  #done: ((code: BookieCode) => void)[] = [];

  constructor(bookieId: BookieId) {
    this.bookieId = bookieId;
  }

  append(_batch: AppendBatch, done: (code: BookieCode) => void): void {
    if (this.#done.length === 0) {
      clock.endOfTurn(() => {
        const all = this.#done;
        this.#done = [];
        for (const one of all) one('OK');
      });
    }
    this.#done.push(done);
  }

  read = async () => ({ code: 'NO_LEDGER' as const, entries: [] });
  fence = async () => ({ code: 'NO_LEDGER' as const });
  readLac = async () => ({ code: 'NO_LEDGER' as const });
  awaitLac = async () => ({ code: 'NO_LEDGER' as const });
  writeLac = async () => ({ code: 'OK' as const });
  force = async () => ({ code: 'OK' as const });
  listEntries = async () => ({ code: 'NO_LEDGER' as const, runs: [] });
  info = async () => ({ code: 'OK' as const, totalBytes: 0, freeBytes: 0 });
}

const registry = new MemoryRegistry();
const bookies = new Map<BookieId, () => BookieService>();
for (const name of ['b1', 'b2', 'b3']) {
  const memory = new MemoryBookie({ clock, bookieId: name });
  registry.register({ bookieId: memory.bookieId, address: '', httpAddress: '', incarnation: '1', isWritable: true });
  bookies.set(memory.bookieId, kind === 'null' ? () => new NullBookie(memory.bookieId) : () => memory.connect().service);
}
const pool = new BookiePool({
  clock,
  registry,
  connect: ({ bookieId }) => ({ service: (bookies.get(bookieId) as () => BookieService)(), close: () => undefined }),
});
const client = createLedgerClient({
  clock,
  random: new RealRandom(),
  records: new MemoryRecords(new MemoryRecordStore(), clock),
  registry,
  bookies: pool,
});

async function round(durationMs: number): Promise<{ entriesPerSecond: number; cpuMicrosPerEntry: number }> {
  const writer = await client.create({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2, password: Buffer.from('bench') });
  const payload = Buffer.alloc(payloadBytes, 'x');
  const startMs = clock.monoMs();
  const cpu = process.cpuUsage();
  let isOver = false;
  await new Promise<void>((resolve, reject) => {
    const fill = () => {
      if (isOver) return;
      if (clock.monoMs() - startMs >= durationMs) {
        isOver = true;
        resolve();
        return;
      }
      while (writer.lastAddPushed - writer.lastAddConfirmed < inFlight && !writer.isFull) writer.push(payload);
    };
    writer.listen({ confirmed: fill, failed: reject });
    fill();
  });
  const used = process.cpuUsage(cpu);
  const elapsedMs = clock.monoMs() - startMs;
  const entries = (writer.lastAddConfirmed as EntryId) + 1;
  await writer.close();
  await client.delete(ledgerId(writer.ledgerId));
  return { entriesPerSecond: (entries * 1000) / elapsedMs, cpuMicrosPerEntry: (used.user + used.system) / entries };
}

await round(500);
for (let i = 0; i < 3; i++) {
  const { entriesPerSecond, cpuMicrosPerEntry } = await round(seconds * 1000);
  process.stdout.write(
    `${kind} bookies, ${payloadBytes} B, ${inFlight} in flight: ${Math.round(entriesPerSecond)} entries/s, ${cpuMicrosPerEntry.toFixed(2)} us of CPU per entry\n`,
  );
}
await client.close();
