import {
  type Addressed,
  AppendBatchBuilder,
  type AppendReply,
  type AppendRequest,
  type AwaitLacReply,
  type AwaitLacRequest,
  type BookieCode,
  type BookieIdentity,
  bookieServiceDefinition,
  createDigest,
  decodeAppendBatch,
  type EntryId,
  encodeExplicitLac,
  entryEntryId,
  type FenceRequest,
  type ForceRequest,
  isSameIdentity,
  type LedgerId,
  masterKey,
  type NumberedRead,
  partsOfReply,
  type ReadPart,
  type ReadRequest,
  readPartBytesMax,
  type WriteLacRequest,
} from '@daybook/proto';
import { RealClock, RealRandom } from '@daybook/runtime/real';
import { Server, ServerCredentials, type ServerDuplexStream, type ServiceDefinition, type sendUnaryData, status } from '@grpc/grpc-js';
import t from 'tap';
import { BookiePool } from './bookie-pool.js';
import { connectGrpcBookie } from './grpc-bookie.js';
import { createLedgerClient } from './ledger-client.js';
import { MemoryBookie } from './testing/memory-bookie.js';
import { MemoryRecordStore, MemoryRecords } from './testing/memory-records.js';
import { MemoryRegistry } from './testing/memory-registry.js';

const clock = new RealClock();
const ledgerId = 7 as LedgerId;
const password = Buffer.from('secret');

/** Puts a bookie in memory behind the real wire; what the bookie's own server does, as small as it can be. */
class WireBookie {
  readonly bookie: MemoryBookie;
  server = new Server();
  port = 0;
  streams: ServerDuplexStream<AppendRequest, AppendReply>[] = [];
  cancelledCount = 0;
  /** Take appends and say nothing. */
  isMute = false;
  /** Of a version without a stream for reads. */
  isOld = false;
  readCallsCount = 0;

  constructor(name: string) {
    this.bookie = new MemoryBookie({ clock, bookieId: name });
  }

  get identity(): BookieIdentity {
    return { bookieId: this.bookie.bookieId, incarnation: this.bookie.incarnation };
  }

  get registered() {
    return { ...this.identity, address: `127.0.0.1:${this.port}`, httpAddress: '', isWritable: true };
  }

  async start(): Promise<void> {
    this.server = new Server();
    const unary =
      <Request, Reply>(answer: (request: Request) => Promise<Reply>, refused: Reply) =>
      (call: { request: Addressed<Request> }, done: sendUnaryData<Reply>) => {
        if (!isSameIdentity(call.request.expected, this.identity)) return done(null, refused);
        answer(call.request.request).then(
          (reply) => done(null, reply),
          (error) => done({ code: status.INTERNAL, message: String(error) }),
        );
      };
    const { service } = this.bookie.connect();
    this.server.addService(
      bookieServiceDefinition as unknown as ServiceDefinition,
      {
        append: (stream: ServerDuplexStream<AppendRequest, AppendReply>) => this.#serveAppends(stream),
        read: unary(
          (request: ReadRequest) => {
            this.readCallsCount++;
            return service.read(request);
          },
          { code: 'UNAVAILABLE', entries: [] },
        ),
        ...(this.isOld ? {} : { streamedRead: (stream: ServerDuplexStream<NumberedRead, ReadPart>) => this.#serveReads(stream) }),
        fence: unary((request: FenceRequest) => service.fence(request), { code: 'UNAVAILABLE' }),
        readLac: unary((id: LedgerId) => service.readLac(id), { code: 'UNAVAILABLE' }),
        awaitLac: (
          call: { request: Addressed<AwaitLacRequest>; on(event: 'cancelled', task: () => void): void },
          done: sendUnaryData<AwaitLacReply>,
        ) => {
          const stop = new AbortController();
          call.on('cancelled', () => {
            this.cancelledCount++;
            stop.abort();
          });
          void service.awaitLac(call.request.request, stop.signal).then((reply) => done(null, reply));
        },
        writeLac: unary((request: WriteLacRequest) => service.writeLac(request), { code: 'UNAVAILABLE' }),
        force: unary((request: ForceRequest) => service.force(request), { code: 'UNAVAILABLE' }),
        listEntries: unary((id: LedgerId) => service.listEntries(id), { code: 'UNAVAILABLE', runs: [] }),
        info: (_call: unknown, done: sendUnaryData<unknown>) => void service.info().then((reply) => done(null, reply)),
      } as never,
    );
    this.port = await new Promise<number>((resolve, reject) => {
      this.server.bindAsync(`127.0.0.1:${this.port}`, ServerCredentials.createInsecure(), (error, port) => (error ? reject(error) : resolve(port)));
    });
  }

  stop(): void {
    this.server.forceShutdown();
  }

  #serveReads(stream: ServerDuplexStream<NumberedRead, ReadPart>): void {
    const { service } = this.bookie.connect();
    stream.on('error', () => undefined);
    stream.on('data', ({ number, read }: NumberedRead) => {
      if (!isSameIdentity(read.expected, this.identity)) stream.write({ number, isLast: true, code: 'UNAVAILABLE', entries: [] });
      else
        void service.read(read.request).then((reply) => {
          for (const part of partsOfReply(number, reply)) stream.write(part);
        });
    });
    stream.on('end', () => stream.end());
  }

  #serveAppends(stream: ServerDuplexStream<AppendRequest, AppendReply>): void {
    this.streams.push(stream);
    const { service } = this.bookie.connect();
    stream.on('error', () => undefined);
    stream.on('data', (request: AppendRequest) => {
      if (request.kind === 'hello') {
        const code = isSameIdentity(request.expected, this.identity) ? 'OK' : 'UNAVAILABLE';
        stream.write({ kind: 'hello', version: 1, identity: this.identity, code });
        if (code !== 'OK') stream.end();
        return;
      }
      for (const [i, bytes] of request.batches.entries()) {
        const sequence = request.firstSequence + i;
        service.append(decodeAppendBatch(bytes), (code) => {
          if (!this.isMute) stream.write({ kind: 'acknowledgements', ranges: [{ first: sequence, last: sequence, code }] });
        });
      }
    });
    stream.on('end', () => stream.end());
  }
}

function batchOf(first: number, payloads: readonly Buffer[]) {
  const builder = new AppendBatchBuilder({ ledgerId, masterKey: masterKey(password), isRecovery: false, digest: createDigest('CRC32C', password) });
  for (const [i, payload] of payloads.entries()) builder.add((first + i) as EntryId, -1 as EntryId, 0, payload);
  return builder.finish();
}

async function started(t: Tap.Test, name = 'b1'): Promise<WireBookie> {
  const wire = new WireBookie(name);
  await wire.start();
  t.teardown(() => wire.stop());
  return wire;
}

function connected(t: Tap.Test, wire: WireBookie, options: { appendTimeoutMs?: number; requestTimeoutMs?: number } = {}) {
  const connection = connectGrpcBookie(wire.registered, { clock, ...options });
  t.teardown(() => connection.close());
  return connection.service;
}

declare namespace Tap {
  type Test = { teardown(task: () => void): void };
}

const append = (service: ReturnType<typeof connected>, batch: ReturnType<typeof batchOf>) =>
  new Promise<BookieCode>((resolve) => service.append(batch, resolve));

t.test('grpc bookie: append, read, fence, last-add-confirmed, list, info over the wire', async (t) => {
  const service = connected(t, await started(t));
  const codes = await Promise.all([
    append(service, batchOf(0, [Buffer.from('a'), Buffer.alloc(300_000, 'b')])),
    append(service, batchOf(2, [Buffer.from('c')])),
  ]);
  t.same(codes, ['OK', 'OK']);
  const reply = await service.read({ ledgerId, entryIds: [0, 1, 2].map((id) => id as EntryId), bytesMax: 10_000_000 });
  t.equal(reply.code, 'OK');
  t.same(
    reply.entries.map((entry) => entry.subarray(36).toString().slice(0, 3)),
    ['a', 'bbb', 'c'],
  );
  t.same(await service.listEntries(ledgerId), { code: 'OK', runs: [{ first: 0, last: 2 }] });
  t.equal((await service.readLac(8 as LedgerId)).code, 'NO_LEDGER');
  t.equal((await service.fence({ ledgerId, masterKey: masterKey(Buffer.from('wrong')) })).code, 'UNAUTHORIZED');
  const fenced = await service.fence({ ledgerId, masterKey: masterKey(password) });
  t.equal(fenced.code, 'OK');
  t.equal(await append(service, batchOf(3, [Buffer.from('d')])), 'FENCED');
  t.equal((await service.info()).code, 'OK');
});

t.test('grpc bookie: bookie of a version without a stream for reads → asked by calls, the first read too', async (t) => {
  const wire = new WireBookie('b1');
  wire.isOld = true;
  await wire.start();
  t.teardown(() => wire.stop());
  const service = connected(t, wire);
  t.equal(await append(service, batchOf(0, [Buffer.from('a')])), 'OK');
  const request = { ledgerId, entryIds: [0 as EntryId], bytesMax: 1000 };
  for (let i = 1; i <= 2; i++) {
    const reply = await service.read(request);
    t.same([reply.code, reply.entries.length], ['OK', 1]);
    t.equal(wire.readCallsCount, i);
  }
});

t.test('grpc bookie: large reply → what one entry keeps alive is bounded', async (t) => {
  const service = connected(t, await started(t));
  t.equal(
    await append(
      service,
      batchOf(
        0,
        Array.from({ length: 300 }, () => Buffer.alloc(1_000, 'x')),
      ),
    ),
    'OK',
  );
  const reply = await service.read({ ledgerId, entryIds: Array.from({ length: 300 }, (_, i) => i as EntryId), bytesMax: 1_000_000 });
  t.equal(reply.entries.length, 300);
  t.ok(reply.entries.every((entry) => entry.buffer.byteLength <= readPartBytesMax));
});

t.test('grpc bookie: nobody listens → UNAVAILABLE, never a negative', async (t) => {
  const wire = await started(t);
  wire.stop();
  const service = connected(t, wire);
  t.equal(await append(service, batchOf(0, [Buffer.from('a')])), 'UNAVAILABLE');
  t.equal((await service.read({ ledgerId, entryIds: [0 as EntryId], bytesMax: 1 })).code, 'UNAVAILABLE');
  t.equal((await service.readLac(ledgerId)).code, 'UNAVAILABLE');
});

t.test('grpc bookie: other disks at the address → UNAVAILABLE, nothing is stored (P6)', async (t) => {
  const wire = await started(t);
  const service = connected(t, wire);
  wire.bookie.wipe();
  t.equal(await append(service, batchOf(0, [Buffer.from('a')])), 'UNAVAILABLE');
  t.equal((await service.readLac(ledgerId)).code, 'UNAVAILABLE');
  t.notOk(wire.bookie.holds(ledgerId, 0));
});

t.test('grpc bookie: connection breaks → outstanding appends UNAVAILABLE; it reconnects by itself', async (t) => {
  const wire = await started(t);
  const service = connected(t, wire);
  t.equal(await append(service, batchOf(0, [Buffer.from('a')])), 'OK');
  wire.isMute = true;
  const lost = append(service, batchOf(1, [Buffer.from('b')]));
  await clock.sleep(50);
  wire.stop();
  t.equal(await lost, 'UNAVAILABLE');
  wire.isMute = false;
  await wire.start();
  let code: BookieCode = 'UNAVAILABLE';
  for (let i = 0; i < 100 && code !== 'OK'; i++) {
    code = await append(service, batchOf(1, [Buffer.from('b')]));
    if (code !== 'OK') await clock.sleep(50);
  }
  t.equal(code, 'OK');
});

t.test('grpc bookie: bookie is silent → TIMEOUT within its bound', async (t) => {
  const wire = await started(t);
  wire.bookie.stall();
  wire.bookie.timeoutMs = 60_000;
  const service = connected(t, wire, { appendTimeoutMs: 200, requestTimeoutMs: 200 });
  const [code, reply] = await Promise.all([append(service, batchOf(0, [Buffer.from('a')])), service.readLac(ledgerId)]);
  t.equal(code, 'TIMEOUT');
  t.equal(reply.code, 'TIMEOUT');
});

t.test('grpc bookie: closed → UNAVAILABLE at once', async (t) => {
  const wire = await started(t);
  const connection = connectGrpcBookie(wire.registered, { clock });
  connection.close();
  t.equal(await append(connection.service, batchOf(0, [Buffer.from('a')])), 'UNAVAILABLE');
  t.equal((await connection.service.readLac(ledgerId)).code, 'UNAVAILABLE');
});

t.test('ledger client over gRPC: append, lose a bookie, recover from another client, read', async (t) => {
  const wires = [await started(t, 'b1'), await started(t, 'b2'), await started(t, 'b3')];
  const registry = new MemoryRegistry();
  for (const wire of wires) registry.register(wire.registered);
  const store = new MemoryRecordStore();
  const clientOf = () => {
    const bookies = new BookiePool({ clock, registry, connect: (bookie) => connectGrpcBookie(bookie, { clock }) });
    t.teardown(() => bookies.close());
    return createLedgerClient({ clock, random: new RealRandom(), records: new MemoryRecords(store, clock), registry, bookies });
  };
  const first = clientOf();
  const writer = await first.create({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2, password });
  await Promise.all(Array.from({ length: 500 }, (_, i) => writer.append(Buffer.from(`entry ${i}`))));
  wires[1]?.stop();
  await Promise.all(Array.from({ length: 500 }, (_, i) => writer.append(Buffer.from(`entry ${i + 500}`))));
  t.ok(writer.isDegraded);
  const reader = await clientOf().openWithRecovery(writer.ledgerId, { password });
  t.equal(reader.lastAddConfirmed, 999);
  const entries = await reader.read(0 as EntryId, 999 as EntryId);
  t.ok(entries.every((entry, i) => entry.payload.toString() === `entry ${i}`));
  await t.rejects(writer.append(Buffer.from('late')), { code: 'LEDGER_FENCED' });
});

t.test('grpc bookie: explicit LAC, force, and waiting for a LAC over the wire', async (t) => {
  const wire = await started(t);
  const service = connected(t, wire);
  t.equal(await append(service, batchOf(0, [Buffer.from('a'), Buffer.from('b')])), 'OK');
  t.same(await service.force({ ledgerId, lastEntryId: 1 as EntryId }), { code: 'OK' });
  t.same(await service.force({ ledgerId, lastEntryId: 2 as EntryId }), { code: 'IO_ERROR' });
  const waiting = service.awaitLac({ ledgerId, after: 0 as EntryId, timeoutMs: 5_000, withEntry: true });
  const explicitLac = encodeExplicitLac(ledgerId, 1 as EntryId, createDigest('CRC32C', password));
  t.same(await service.writeLac({ ledgerId, masterKey: masterKey(password), explicitLac }), { code: 'OK' });
  const reply = await waiting;
  t.equal(entryEntryId(reply.entry as Buffer), 1);
  t.same(reply.explicitLac, explicitLac);
  t.same((await service.readLac(ledgerId)).explicitLac, explicitLac);
  t.equal((await service.awaitLac({ ledgerId, after: 9 as EntryId, timeoutMs: 20, withEntry: false })).code, 'OK', 'the time-out is no failure');
});

t.test('grpc bookie: nobody waits for a LAC any more, or the connection is closed → cancelled at the bookie too', async (t) => {
  const wire = await started(t);
  const service = connected(t, wire);
  t.equal(await append(service, batchOf(0, [Buffer.from('a')])), 'OK');
  const request = { ledgerId, after: 5 as EntryId, timeoutMs: 60_000, withEntry: false };
  const stop = new AbortController();
  const stopped = service.awaitLac(request, stop.signal);
  while (wire.bookie.waitersCount === 0) await clock.sleep(2);
  stop.abort();
  t.same(await stopped, { code: 'UNAVAILABLE' });
  while (wire.bookie.waitersCount > 0) await clock.sleep(2);
  t.equal(wire.cancelledCount, 1);
  t.same(await service.awaitLac(request, stop.signal), { code: 'UNAVAILABLE' }, 'aborted before it was asked');
  const connection = connectGrpcBookie(wire.registered, { clock });
  const broken = connection.service.awaitLac(request);
  while (wire.bookie.waitersCount === 0) await clock.sleep(2);
  connection.close();
  wire.stop();
  t.same(await broken, { code: 'UNAVAILABLE' });
});
