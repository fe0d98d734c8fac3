import { type ClientHttp2Session, connect } from 'node:http2';
import {
  type AppendReply,
  type AppendRequest,
  type BookieMethod,
  type EntryId,
  type LedgerId,
  bookieServiceDefinition as methods,
  type NumberedRead,
  type ReadPart,
} from '@daybook/proto';
import { silentLogger } from '@daybook/runtime';
import { RealClock } from '@daybook/runtime/real';
import { Client, credentials } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { entryOf, makeBatch, testKey } from '../testing/batches.js';
import { SimBookie } from '../testing/sim-bookie.js';
import { createAdmission } from './admission.js';
import { startBookieServer } from './grpc-server.js';

async function world(t: Test) {
  const sim = new SimBookie();
  const bookie = await sim.start();
  const driver = sim.queue.drive();
  const { service, identity } = bookie;
  const admission = createAdmission({ readBytesMax: 10_000 });
  const server = await startBookieServer({ service, identity, admission, clock: new RealClock(), logger: silentLogger, host: '127.0.0.1', port: 0 });
  const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
  t.teardown(async () => {
    client.close();
    await server.close();
    await bookie.close();
    driver.stop();
  });
  const call = <Request, Reply>(method: BookieMethod<Request, Reply>, request: Request) =>
    new Promise<Reply>((resolve, reject) => {
      client.makeUnaryRequest(method.path, method.requestSerialize, method.responseDeserialize, request, (error, reply) =>
        error === null ? resolve(reply as Reply) : reject(error),
      );
    });
  const expected = { bookieId: identity.bookieId, incarnation: identity.incarnation };
  return { client, call, expected, server, admission };
}

function openAppends(client: Client) {
  const { path, requestSerialize, responseDeserialize } = methods.append;
  const stream = client.makeBidiStreamRequest<AppendRequest, AppendReply>(path, requestSerialize, responseDeserialize);
  const replies: AppendReply[] = [];
  let wake = (): void => {};
  stream.on('data', (reply: AppendReply) => {
    replies.push(reply);
    wake();
  });
  const ended = new Promise<unknown>((resolve) => {
    stream.on('error', resolve);
    stream.on('end', () => resolve(undefined));
  });
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { stream, replies, ended, until };
}

t.test('grpc server: append stream, reads, fence, list, info → as from the bookie itself', async (t) => {
  const { client, call, expected, admission } = await world(t);
  const { stream, replies, until, ended } = openAppends(client);
  stream.write({ kind: 'hello', version: 1, expected });
  const batches = Array.from({ length: 50 }, (_, i) => makeBatch({ ledger: 1, first: i * 10, count: 10 }).bytes);
  stream.write({ kind: 'batches', firstSequence: 0, batches: batches.slice(0, 20) });
  stream.write({ kind: 'batches', firstSequence: 20, batches: batches.slice(20) });
  const acknowledged = (): number =>
    replies.reduce((sum, reply) => sum + (reply.kind === 'hello' ? 0 : reply.ranges.reduce((n, { first, last }) => n + last - first + 1, 0)), 0);
  await until(() => acknowledged() === 50);
  t.match(replies[0], { kind: 'hello', code: 'OK', identity: expected });
  t.ok(replies.slice(1).every((reply) => reply.kind === 'acknowledgements' && reply.ranges.every(({ code }) => code === 'OK')));
  const read = await call(methods.read, { expected, request: { ledgerId: 1 as never, entryIds: [4, 5, 499] as never[], bytesMax: 1000 } });
  t.strictSame(read, { code: 'OK', entries: [4, 5, 499].map((id) => entryOf(1, id)) });
  t.equal(admission.reads.taken, 0, 'the room for the reply is given back');
  t.strictSame(await call(methods.listEntries, { expected, request: 1 as never }), { code: 'OK', runs: [{ first: 0, last: 499 }] });
  t.ok((await call(methods.fence, { expected, request: { ledgerId: 1 as never, masterKey: testKey } })).lastEntry?.equals(entryOf(1, 499)));
  stream.write({ kind: 'batches', firstSequence: 50, batches: [makeBatch({ ledger: 1, first: 500, count: 1 }).bytes] });
  await until(() => acknowledged() === 51);
  t.match(replies.at(-1), { ranges: [{ first: 50, last: 50, code: 'FENCED' }] });
  t.match(await call(methods.readLac, { expected, request: 2 as never }), { code: 'NO_LEDGER' });
  t.ok((await call(methods.info, expected)).totalBytes > 0);
  stream.end();
  t.equal(await ended, undefined);
});

t.test('grpc server: request meant for other disks → UNAVAILABLE, and nothing is done', async (t) => {
  const { client, call, expected } = await world(t);
  const wrong = { ...expected, incarnation: 'older' };
  t.equal((await call(methods.fence, { expected: wrong, request: { ledgerId: 1 as never, masterKey: testKey } })).code, 'UNAVAILABLE');
  t.equal((await call(methods.readLac, { expected: wrong, request: 1 as never })).code, 'UNAVAILABLE');
  t.equal((await call(methods.readLac, { expected, request: 1 as never })).code, 'NO_LEDGER');
  const { stream, replies, ended } = openAppends(client);
  stream.write({ kind: 'hello', version: 1, expected: wrong });
  await ended;
  t.match(replies, [{ kind: 'hello', code: 'UNAVAILABLE', identity: expected }]);
});

t.test('grpc server: stream against the rules, or garbage → an error for that stream; others go on', async (t) => {
  const { client, call, expected } = await world(t);
  const { stream, ended } = openAppends(client);
  stream.write({ kind: 'batches', firstSequence: 0, batches: [Buffer.from('x')] });
  t.match(await ended, { code: 3, details: /hello/ });
  const garbage = client.makeBidiStreamRequest<Buffer, AppendReply>(methods.append.path, (bytes) => bytes, methods.append.responseDeserialize);
  const failed = new Promise((resolve) => garbage.on('error', resolve));
  garbage.write(Buffer.from('ffffffffff', 'hex'));
  await failed;
  t.equal((await call(methods.readLac, { expected, request: 1 as never })).code, 'NO_LEDGER');
});

t.test('grpc server: many reads at once → wait for room, all are answered', async (t) => {
  const { client, call, expected, admission } = await world(t);
  const { stream, until, replies } = openAppends(client);
  stream.write({ kind: 'hello', version: 1, expected });
  stream.write({ kind: 'batches', firstSequence: 0, batches: [makeBatch({ ledger: 1, first: 0, count: 20, bytes: 300 }).bytes] });
  await until(() => replies.length === 2);
  const request = { ledgerId: 1 as never, entryIds: Array.from({ length: 20 }, (_, i) => i) as never[], bytesMax: 6000 };
  const answers = await Promise.all(Array.from({ length: 30 }, () => call(methods.read, { expected, request })));
  t.ok(answers.every(({ entries }) => entries.length > 10));
  t.equal(admission.reads.taken, 0);
  stream.end();
});

t.test(
  'grpc server: stream of reads → all are answered, whole, in parts; somebody else is told so; room is given back, also when the client goes away',
  async (t) => {
    const { client, call, expected, admission } = await world(t);
    const { stream, until, replies } = openAppends(client);
    stream.write({ kind: 'hello', version: 1, expected });
    stream.write({ kind: 'batches', firstSequence: 0, batches: [makeBatch({ ledger: 1, first: 0, count: 20, bytes: 300 }).bytes] });
    await until(() => replies.length === 2);
    const { path, requestSerialize, responseDeserialize } = methods.streamedRead;
    const reads = client.makeBidiStreamRequest<NumberedRead, ReadPart>(path, requestSerialize, responseDeserialize);
    const parts: ReadPart[] = [];
    const answered = new Promise<void>((resolve) =>
      reads.on('data', (part: ReadPart) => {
        parts.push(part);
        if (parts.filter(({ isLast }) => isLast).length === 31) resolve();
      }),
    );
    reads.on('error', () => undefined);
    const request = { ledgerId: 1 as never, entryIds: Array.from({ length: 20 }, (_, i) => i) as never[], bytesMax: 6000 };
    for (let number = 0; number < 30; number++) reads.write({ number, read: { expected, request } });
    reads.write({ number: 30, read: { expected: { ...expected, incarnation: 'older' }, request } });
    await answered;
    const alone = await call(methods.read, { expected, request });
    for (let number = 0; number < 30; number++)
      t.strictSame(
        parts.filter((part) => part.number === number).flatMap((part) => part.entries),
        alone.entries,
      );
    t.match(
      parts.find((part) => part.number === 30),
      { code: 'UNAVAILABLE', isLast: true },
    );
    for (let number = 31; number < 100; number++) reads.write({ number, read: { expected, request } });
    reads.cancel();
    while (admission.reads.taken > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    t.strictSame(await call(methods.read, { expected, request }), alone);
    stream.end();
  },
);

t.test('grpc server: clients may send wide, as the windows say', async (t) => {
  const { server } = await world(t);
  const session: ClientHttp2Session = connect(`http://127.0.0.1:${server.port}`);
  t.teardown(() => session.destroy());
  while (session.remoteSettings.initialWindowSize !== 4 * 1024 * 1024) {
    await new Promise((resolve) => session.once('remoteSettings', resolve));
  }
  await new Promise((resolve) => session.ping(resolve));
  t.ok((session.state.remoteWindowSize ?? 0) >= 4 * 1024 * 1024, 'the connection as well');
});

t.test('grpc server: port in use → says so', async (t) => {
  const { server } = await world(t);
  const options = { service: {} as never, identity: {} as never, clock: new RealClock(), logger: silentLogger, host: '127.0.0.1', port: server.port };
  await t.rejects(startBookieServer(options), { code: 'BOOKIE_SERVER_LISTEN' });
});

t.test('grpc server: a client that waits for a LAC goes away → the bookie does not wait on its behalf any more', async (t) => {
  const sim = new SimBookie();
  const bookie = await sim.start();
  let arrived: (() => void) | undefined;
  const asked = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  let stopped: (() => void) | undefined;
  const seen = new Promise<void>((resolve) => {
    stopped = resolve;
  });
  const service = Object.create(bookie.service, {
    awaitLac: {
      value: (_request: unknown, stop: AbortSignal) => {
        arrived?.();
        return new Promise(() => stop.addEventListener('abort', () => stopped?.()));
      },
    },
  });
  const { identity } = bookie;
  const server = await startBookieServer({ service, identity, clock: new RealClock(), logger: silentLogger, host: '127.0.0.1', port: 0 });
  const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
  const { path, requestSerialize, responseDeserialize } = methods.awaitLac;
  const expected = { bookieId: identity.bookieId, incarnation: identity.incarnation };
  const request = { expected, request: { ledgerId: 1 as LedgerId, after: -1 as EntryId, timeoutMs: 60_000, withEntry: false } };
  const call = client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, () => undefined);
  await asked;
  call.cancel();
  await seen;
  t.pass('it was told');
  client.close();
  await server.close();
  sim.disk.kill();
});
