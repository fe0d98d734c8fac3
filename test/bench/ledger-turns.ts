import { createInterface } from 'node:readline';
import type { LedgerReader, LedgerWriter } from '@daybook/ledger';
import { AppendBatchBuilder, type BookieService, createDigest, type EntryId, type LedgerId, ledgerId as ledgerIdOf, masterKey } from '@daybook/proto';
import { keepHeapHeadroom } from '@daybook/runtime/real';
import { openView } from '../chaos/lose-bookie.js';

/**
 * A ledger client that measures what it is told, one line of standard input at a time: `node ledger-turns.js METADATA`. `LedgerTurns.java` understands the same lines
 * (but `service`); each is answered by one line of JSON. E Qw Qa are three numbers.
 *
 * - `pipelined BYTES WINDOW SECONDS E Qw Qa`  appends with so many unanswered: rate, latencies, and the ledger for `read`
 * - `service BYTES WINDOW SECONDS`            the same without the client: batches straight to the first bookie's service
 * - `paced BYTES RATE SECONDS E Qw Qa`        latencies from the moment each entry was due
 * - `fill BYTES WINDOW E Qw Qa`               appends until the process is killed; answered when 5,000 are acknowledged
 * - `gap BYTES WINDOW SECONDS E Qw Qa`        answers with the ensemble, goes on appending, then answers with the longest time without an acknowledgement
 * - `recover LEDGER`                          opens with recovery
 * - `read LEDGER BATCH`                       reads all of it in order
 */
const [metadata = ''] = process.argv.slice(2);
const password = Buffer.from('bench');
// As Daybook's own processes that write ledgers do.
keepHeapHeadroom();
const view = await openView(metadata);
/** Not busily: what is measured needs the processor too. */
const nextTick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

function create([e, qw, qa]: readonly number[]): Promise<LedgerWriter> {
  return view.client.create({ ensembleSize: e as number, writeQuorumSize: qw as number, ackQuorumSize: qa as number, password });
}

/** As time goes on, up to so many. */
class Latencies {
  readonly #ms = new Float64Array(20_000_000);
  #count = 0;

  add(ms: number): void {
    if (this.#count < this.#ms.length) this.#ms[this.#count++] = ms;
  }

  clear(): void {
    this.#count = 0;
  }

  summary(): object {
    const sorted = this.#ms.slice(0, this.#count).sort();
    const at = (share: number): number => Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(3));
    return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  }
}

const latencies = new Latencies();
const warmUpMs = 1_000;

interface Load {
  bytes: number;
  window: number;
  /** Called for each watermark of acknowledgements. */
  onConfirmed?(count: number): void;
}

/** Appends while `goesOn` and `window` allow; resolves when all is acknowledged. */
function append(writer: LedgerWriter, { bytes, window, onConfirmed }: Load, goesOn: () => boolean): Promise<void> {
  const payload = Buffer.alloc(bytes, 'a');
  const sentMs = new Float64Array(window);
  let confirmed = 0;
  return new Promise((resolve, reject) => {
    const fill = (): void => {
      const nowMs = performance.now();
      while (goesOn() && writer.lastAddPushed + 1 - confirmed < window) {
        if (writer.isFull) {
          writer.onDrain(fill);
          return;
        }
        sentMs[(writer.lastAddPushed + 1) % window] = nowMs;
        writer.push(payload);
      }
    };
    writer.listen({
      confirmed: (last) => {
        const nowMs = performance.now();
        for (; confirmed <= last; confirmed++) latencies.add(nowMs - (sentMs[confirmed % window] as number));
        onConfirmed?.(confirmed);
        if (!goesOn() && confirmed === writer.lastAddPushed + 1) resolve();
        else fill();
      },
      failed: reject,
    });
    fill();
  });
}

async function pipelined(bytes: number, window: number, seconds: number, quorum: readonly number[]): Promise<object> {
  const writer = await create(quorum);
  latencies.clear();
  const startMs = performance.now();
  let from: { ms: number; count: number; cpu: NodeJS.CpuUsage } | undefined;
  const onConfirmed = (count: number): void => {
    if (from !== undefined || performance.now() - startMs < warmUpMs) return;
    from = { ms: performance.now(), count, cpu: process.cpuUsage() };
    latencies.clear();
  };
  await append(writer, { bytes, window, onConfirmed }, () => performance.now() - startMs < warmUpMs + seconds * 1_000);
  const begun = from ?? { ms: startMs, count: 0, cpu: process.cpuUsage() };
  const entries = writer.lastAddConfirmed + 1;
  const cpu = process.cpuUsage(begun.cpu);
  const measured = entries - begun.count;
  const perSecond = Math.round((measured * 1_000) / (performance.now() - begun.ms));
  await writer.close();
  return { perSecond, ...latencies.summary(), clientCpuUs: round((cpu.user + cpu.system) / measured), ledger: writer.ledgerId, entries };
}

function round(value: number): number {
  return Number(value.toFixed(2));
}

/** What one bookie takes through its own service: batches of a quarter of the window, four at a time. */
async function service(bytes: number, window: number, seconds: number): Promise<object> {
  const bookie = firstBookie();
  const id = ledgerIdOf(await view.records.nextLedgerId());
  const payload = Buffer.alloc(bytes, 'a');
  const builder = new AppendBatchBuilder({
    ledgerId: id,
    masterKey: masterKey(password),
    isRecovery: false,
    digest: createDigest('CRC32C', password),
    batchBytesLimit: 1 << 22,
  });
  const perBatch = Math.max(1, Math.floor(window / 4));
  latencies.clear();
  const startMs = performance.now();
  let next = 0;
  let confirmed = 0;
  let from: { ms: number; count: number } | undefined;
  await new Promise<void>((resolve, reject) => {
    let open = 0;
    const fill = (): void => {
      while (open < 4 && performance.now() - startMs < warmUpMs + seconds * 1_000) {
        for (let i = 0; i < perBatch; i++, next++) builder.add(next as EntryId, (confirmed - 1) as EntryId, next * bytes, payload);
        const sentMs = performance.now();
        open++;
        bookie.append(builder.finish(), (code) => {
          open--;
          confirmed += perBatch;
          latencies.add(performance.now() - sentMs);
          if (from === undefined && performance.now() - startMs >= warmUpMs) {
            from = { ms: performance.now(), count: confirmed };
            latencies.clear();
          }
          if (code !== 'OK') reject(new Error(code));
          else fill();
        });
      }
      if (open === 0) resolve();
    };
    fill();
  });
  const { ms, count } = from ?? { ms: startMs, count: 0 };
  return { perSecond: Math.round(((next - count) * 1_000) / (performance.now() - ms)), ...latencies.summary() };
}

function firstBookie(): BookieService {
  const [bookie] = view.registry.list();
  const pooled = bookie === undefined ? undefined : view.pool.get(bookie.bookieId);
  if (pooled === undefined) throw new Error('no bookie is registered');
  return pooled.service;
}

async function paced(bytes: number, rate: number, seconds: number, quorum: readonly number[]): Promise<object> {
  const writer = await create(quorum);
  const payload = Buffer.alloc(bytes, 'a');
  const total = Math.floor(rate * seconds);
  const startMs = performance.now() + 10;
  const dueMs = (entry: number): number => startMs + (entry * 1_000) / rate;
  latencies.clear();
  let confirmed = 0;
  const skipped = Math.min(Math.floor(total / 5), rate);
  const done = new Promise<void>((resolve, reject) => {
    writer.listen({
      confirmed: (last) => {
        const nowMs = performance.now();
        for (; confirmed <= last; confirmed++) if (confirmed >= skipped) latencies.add(nowMs - dueMs(confirmed));
        if (confirmed === total) resolve();
      },
      failed: reject,
    });
  });
  for (let entry = 0; entry < total; ) {
    const nowMs = performance.now();
    while (entry < total && dueMs(entry) <= nowMs && !writer.isFull) {
      writer.push(payload);
      entry++;
    }
    await nextTick();
  }
  await done;
  await writer.close();
  return { rate, ...latencies.summary() };
}

async function fill(bytes: number, window: number, quorum: readonly number[]): Promise<object> {
  const writer = await create(quorum);
  return await new Promise((resolve, reject) => {
    const onConfirmed = (count: number): void => {
      if (count >= 5_000) resolve({ ledger: writer.ledgerId });
    };
    append(writer, { bytes, window, onConfirmed }, () => true).catch(reject);
  });
}

async function gap(bytes: number, window: number, seconds: number, quorum: readonly number[]): Promise<object> {
  const writer = await create(quorum);
  const endMs = performance.now() + seconds * 1_000;
  let longestMs = 0;
  let beforeMs = performance.now() + warmUpMs;
  const onConfirmed = (): void => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - beforeMs);
    beforeMs = Math.max(beforeMs, nowMs);
  };
  answer({ ensemble: writer.metadata.segments[0]?.ensemble });
  await append(writer, { bytes, window, onConfirmed }, () => performance.now() < endMs);
  const segments = writer.metadata.segments.length;
  await writer.close();
  return { longestMs: round(longestMs), segments };
}

async function recover(ledgerId: number): Promise<object> {
  const beganMs = performance.now();
  const reader = await view.client.openWithRecovery(ledgerId as LedgerId, { password });
  const ms = round(performance.now() - beganMs);
  await reader.close();
  return { ms, lastEntryId: reader.lastAddConfirmed };
}

async function read(ledgerId: number, batch: number): Promise<object> {
  const reader: LedgerReader = await view.client.openWithoutRecovery(ledgerId as LedgerId, { password });
  const beganMs = performance.now();
  let bytes = 0;
  let entries = 0;
  for (let next = 0; next <= reader.lastAddConfirmed; next += batch) {
    for (const { payload } of await reader.read(next as EntryId, Math.min(reader.lastAddConfirmed, next + batch - 1) as EntryId)) {
      bytes += payload.length;
      entries++;
    }
  }
  const seconds = (performance.now() - beganMs) / 1_000;
  await reader.close();
  return { megabytesPerSecond: Math.round(bytes / seconds / 1e6), perSecond: Math.round(entries / seconds), entries };
}

function answer(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

async function run(line: string): Promise<object> {
  const [what, ...words] = line.split(' ');
  const [a = 0, b = 0, c = 0, ...rest] = words.map(Number);
  switch (what) {
    case 'pipelined':
      return await pipelined(a, b, c, rest);
    case 'service':
      return await service(a, b, c);
    case 'paced':
      return await paced(a, b, c, rest);
    case 'fill':
      return await fill(a, b, [c, ...rest]);
    case 'gap':
      return await gap(a, b, c, rest);
    case 'recover':
      return await recover(a);
    case 'read':
      return await read(a, b);
    default:
      throw new Error(`what is ${what}?`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    answer(await run(line));
  } catch (error) {
    answer({ error: String(error) });
  }
}
process.exit(0);
