import { ledgerIdOfPath } from '@daybook/metadata';
import type { EntryId, LedgerId } from '@daybook/proto';
import { crc32c } from '@daybook/runtime';
import fc from 'fast-check';
import t from 'tap';
import type { CrashPoint } from '../log/testing/crashing-store.js';
import { type LogNode, LogWorld } from '../log/testing/log-world.js';
import type { BlobRange, BlobStore } from './blob-api.js';
import type { BlobStoreOptions } from './blob-options.js';
import { createBlobStore } from './blob-store.js';

function blobsOf({ store, ledgers, clock, random }: LogNode, options: Partial<BlobStoreOptions> = {}): BlobStore {
  return createBlobStore({ store, ledgers, clock, random, options: { chunkBytes: 100, windowBytes: 400, ...options } });
}

/** Bytes that differ from place to place. */
function content(bytes: number, salt = 0): Buffer {
  return Buffer.from(Array.from({ length: bytes }, (_, i) => (i * 31 + (i >> 8) * 7 + salt) & 0xff));
}

/** A source that hands out pieces of odd sizes. */
async function* pieces(bytes: Buffer, size = 37): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(blobs: BlobStore, name: string, range?: BlobRange): Promise<Buffer> {
  const out: Buffer[] = [];
  for await (const piece of (await blobs.get(name, range)).content) out.push(piece);
  return Buffer.concat(out);
}

function ledgersOf(world: LogWorld): number[] {
  const found: number[] = [];
  const walk = (path: string) => {
    const id = ledgerIdOfPath(path);
    if (id !== undefined) found.push(Number(id));
    for (const name of world.tree.tree.children(path)) walk(`${path}/${name}`);
  };
  walk('/ledgers');
  return found;
}

t.test('blob store: put, get, stat, list, verify, delete → of any size around the chunk, nothing is left in the end', async (t) => {
  const world = new LogWorld();
  const blobs = blobsOf(world.node());
  for (const bytes of [0, 1, 99, 100, 101, 200, 1_234, 10_000]) {
    const name = `photo/${bytes}.jpg`;
    const whole = content(bytes);
    const info = await world.run(blobs.put(name, pieces(whole), { contentType: 'image/jpeg', metadata: { camera: 'ü' } }));
    t.match(info, { name, bytes, crc32c: crc32c(whole), contentType: 'image/jpeg', metadata: { camera: 'ü' } });
    t.same(await world.run(blobs.stat(name)), info);
    t.same(await world.run(read(blobs, name)), whole, `${bytes} bytes`);
    t.same(await world.run(blobs.verify(name)), info);
  }
  t.same(
    (await world.run(blobs.list({ prefix: 'photo/10' }))).blobs.map(({ name }) => name),
    ['photo/100.jpg', 'photo/10000.jpg', 'photo/101.jpg'],
  );
  const page = await world.run(blobs.list({ countMax: 3 }));
  t.equal(page.isTruncated, true);
  const rest = await world.run(blobs.list({ after: page.blobs.at(-1)?.name as string }));
  t.equal(page.blobs.length + rest.blobs.length, 8);
  for (const { name } of [...page.blobs, ...rest.blobs]) await world.run(blobs.delete(name));
  t.same(ledgersOf(world), []);
  t.same(await world.run(blobs.uploads()), []);
  t.same((await world.run(blobs.list())).blobs, []);
  for (const name of ['delete', 'stat', 'get', 'verify'] as const) t.equal((await world.rejection(blobs[name]('x'))).code, 'BLOB_NOT_FOUND');
});

t.test('blob store: any range → those bytes', async (t) => {
  const world = new LogWorld();
  const blobs = blobsOf(world.node());
  const whole = content(1_234);
  await world.run(blobs.put('a', pieces(whole)));
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 1_234 }), fc.nat({ max: 1_500 }), async (offset, length) => {
      t.same(await world.run(read(blobs, 'a', { offset, length })), whole.subarray(offset, offset + length), `${offset} + ${length}`);
    }),
    { numRuns: 60 },
  );
  t.same(await world.run(read(blobs, 'a', { offset: 1_200 })), whole.subarray(1_200));
  for (const range of [{ offset: -1 }, { offset: 1_235 }, { offset: 0.5 }, { length: -1 }, { length: Number.NaN }])
    t.equal((await world.rejection(blobs.get('a', range))).code, 'BLOB_BAD_RANGE');
});

t.test('blob store: chunks go round all bookies of the ensemble, two copies of each', async (t) => {
  const world = new LogWorld({ bookiesCount: 4 });
  const node = world.node();
  const blobs = blobsOf(node, { ensembleSize: 4 });
  await world.run(blobs.put('a', pieces(content(1_200))));
  const [ledgerId] = ledgersOf(world);
  const copies = [...world.bookies.bookies.values()].map(
    (bookie) => Array.from({ length: 12 }, (_, i) => bookie.holds(ledgerId as LedgerId, i)).filter(Boolean).length,
  );
  t.same(copies.sort(), [6, 6, 6, 6]);
});

t.test('blob store: the source fails → nothing is left; no source is read faster than it is stored', async (t) => {
  const world = new LogWorld({ delayMs: 20 });
  const node = world.node();
  const blobs = blobsOf(node);
  async function* broken() {
    yield content(250);
    throw new Error('the camera broke');
  }
  t.match(await world.rejection(blobs.put('a', broken())), /the camera broke/);
  t.same(ledgersOf(world), []);
  t.same(await world.run(blobs.uploads()), []);

  let taken = 0;
  async function* counted() {
    for (let i = 0; i < 100; i++) {
      taken += 100;
      yield content(100, i);
    }
  }
  const put = blobs.put('b', counted());
  let mostAhead = 0;
  let isDone = false;
  void put.then(() => {
    isDone = true;
  });
  const bookie = world.bookies.bookie('b1');
  while (!isDone) {
    await world.runFor(1);
    const [ledgerId] = ledgersOf(world);
    if (ledgerId === undefined) continue;
    let arrived = 0;
    while ([...world.bookies.bookies.values()].some((one) => one.holds(ledgerId as LedgerId, arrived as EntryId))) arrived++;
    if (!isDone) mostAhead = Math.max(mostAhead, taken - arrived * 100);
  }
  t.ok(bookie.appendsCount > 0);
  t.ok(mostAhead <= 700, `${mostAhead} bytes ahead with a window of 400`);
});

t.test('blob store: put again → readers get the old one or the new one, never a mix; the old one goes', async (t) => {
  const world = new LogWorld();
  const [one, two] = [blobsOf(world.node()), blobsOf(world.node())];
  const versions = Array.from({ length: 6 }, (_, i) => content(500 + i * 10, i));
  await world.run(one.put('a', pieces(versions[0] as Buffer)));
  const seen = new Set<number>();
  let isDone = false;
  const reading = (async () => {
    while (!isDone) {
      const bytes = await read(two, 'a').catch((error) => {
        if (error.code !== 'BLOB_GONE') throw error;
      });
      if (bytes === undefined) continue;
      const index = versions.findIndex((version) => version.equals(bytes));
      if (index < 0) throw new Error('a mix');
      seen.add(index);
    }
  })();
  const writing = (async () => {
    await Promise.all([1, 2].map((i) => one.put('a', pieces(versions[i] as Buffer))));
    await Promise.all([3, 4].map((i) => two.put('a', pieces(versions[i] as Buffer))));
    await one.put('a', pieces(versions[5] as Buffer));
  })();
  await world.run(writing);
  isDone = true;
  await world.run(reading);
  t.ok(seen.size > 1);
  t.same(await world.run(read(one, 'a')), versions[5]);
  t.equal(ledgersOf(world).length, 1);
  t.same(await world.run(one.uploads()), []);
});

t.test('blob store: the uploader dies → another one resumes from where it got to; the old one, if it lives, is stopped', async (t) => {
  const whole = content(2_345);
  for (const dies of [true, false]) {
    const world = new LogWorld();
    const node = world.node();
    const first = blobsOf(node, { touchBytes: 500 });
    const upload = await world.run(first.beginUpload('a', { contentType: 'x' }));
    await world.run(upload.write(pieces(whole.subarray(0, 1_050))));
    await world.runFor(1_000);
    const blobs = blobsOf(world.node());
    t.equal((await world.rejection(blobs.stat('a'))).code, 'BLOB_NOT_FOUND', 'not to be seen');
    if (dies) node.crash();
    const resumed = await world.run(blobs.resumeUpload(upload.uploadId));
    t.equal(resumed.bytesStored, 1_000, 'whole chunks');
    await world.run(resumed.write(pieces(whole.subarray(resumed.bytesStored, 1_777))));
    if (!dies) {
      const late = await world.rejection(
        (async () => {
          await upload.write([whole.subarray(1_050)]);
          await upload.finish();
        })(),
      );
      t.match(late, { code: /^BLOB_(INTERRUPTED|UPLOAD_TAKEN)$/ });
      await world.run(upload.abort());
    }
    const again = await world.run(blobs.resumeUpload(upload.uploadId));
    t.equal(again.bytesStored, 1_700);
    await world.run(again.write([whole.subarray(again.bytesStored)]));
    t.match(await world.run(again.finish()), { bytes: 2_345, crc32c: crc32c(whole), contentType: 'x' });
    t.same(await world.run(read(blobs, 'a')), whole);
    t.same(await world.run(read(blobs, 'a', { offset: 950, length: 900 })), whole.subarray(950, 1_850), 'across the parts');
    t.equal((await world.rejection(blobs.resumeUpload(upload.uploadId))).code, 'BLOB_NO_UPLOAD');
    await world.run(blobs.delete('a'));
    t.same(ledgersOf(world), []);
  }
});

t.test('blob store: too few bookies in the middle of a put → BLOB_INTERRUPTED that tells how to go on', async (t) => {
  const world = new LogWorld();
  const blobs = blobsOf(world.node());
  const whole = content(3_000);
  async function* withFailure() {
    yield whole.subarray(0, 1_500);
    world.bookies.kill('b2');
    world.bookies.kill('b3');
    yield whole.subarray(1_500);
  }
  let uploadId = '';
  const options = {
    onUpload: (id: string) => {
      uploadId = id;
    },
  };
  const error = await world.rejection(blobs.put('a', withFailure(), options));
  t.equal(error.code, 'BLOB_INTERRUPTED');
  t.match(error.message, uploadId);
  world.bookies.restart('b2');
  world.bookies.restart('b3');
  await world.runFor(120_000);
  const resumed = await world.run(blobs.resumeUpload(uploadId));
  t.ok(resumed.bytesStored >= 1_000 && resumed.bytesStored % 100 === 0);
  await world.run(resumed.write([whole.subarray(resumed.bytesStored)]));
  await world.run(resumed.finish());
  t.same(await world.run(read(blobs, 'a')), whole);
});

t.test('blob store: abandoned uploads → removed when they are old enough, not before; live ones stay', async (t) => {
  const world = new LogWorld();
  const node = world.node();
  const dead = await world.run(blobsOf(node).beginUpload('a'));
  await world.run(dead.write([content(300)]));
  node.crash();
  const blobs = blobsOf(world.node(), { touchMs: 1_000 });
  const live = await world.run(blobs.beginUpload('b'));
  await world.runFor(50_000);
  await world.run(live.write([content(300)]));
  t.equal(await world.run(blobs.removeAbandoned(60_000)), 0);
  await world.runFor(20_000);
  t.equal(await world.run(blobs.removeAbandoned(60_000)), 1);
  t.same(
    (await world.run(blobs.uploads())).map(({ name }) => name),
    ['b'],
  );
  t.equal((await world.rejection(blobs.resumeUpload(dead.uploadId))).code, 'BLOB_NO_UPLOAD');
  await world.run(live.finish());
  t.equal(ledgersOf(world).length, 1);
  const gone = await world.run(blobs.beginUpload('c'));
  await world.run(gone.write([content(300)]));
  await world.runFor(100);
  await world.run(blobsOf(world.node()).removeAbandoned(0));
  t.match(await world.rejection(gone.finish()), { code: /^BLOB_(NO_UPLOAD|INTERRUPTED)$/ });
  t.same(await world.run(read(blobs, 'b')), content(300));
});

t.test('blob store: a damaged chunk on all its bookies → an error, never wrong bytes; a blob deleted while it is read → BLOB_GONE', async (t) => {
  const world = new LogWorld();
  const blobs = blobsOf(world.node());
  await world.run(blobs.put('a', pieces(content(1_000))));
  const [ledgerId] = ledgersOf(world);
  for (const bookie of world.bookies.bookies.values()) if (bookie.holds(ledgerId as LedgerId, 5)) bookie.damage(ledgerId as LedgerId, 5);
  t.match(await world.rejection(blobs.verify('a')), { code: /^(LEDGER_READ_FAILED|BLOB_CORRUPT)$/ });
  t.same(await world.run(read(blobs, 'a', { offset: 0, length: 500 })), content(1_000).subarray(0, 500), 'other ranges can be read');
  const { content: stream } = await world.run(blobs.get('a'));
  await world.run(blobs.delete('a'));
  t.equal((await world.rejection(stream[Symbol.asyncIterator]().next())).code, 'BLOB_GONE');
});

t.test('blob store: names, labels and options that cannot be → coded errors before anything is written', async (t) => {
  const world = new LogWorld();
  const node = world.node();
  const blobs = blobsOf(node);
  t.match(await world.rejection(blobs.put('', [content(1)])), { code: 'METADATA_BAD_PATH' });
  t.match(await world.rejection(blobs.put('\ud800', [content(1)])), { code: 'METADATA_BAD_PATH' });
  t.match(await world.rejection(blobs.put('a', [content(1)], { metadata: { a: 'x'.repeat(70_000) } })), { code: 'BLOB_BAD_OPTIONS' });
  t.same(await world.run(blobs.uploads()), []);
  for (const chunkBytes of [0, -1, 1.5, 5 * 1024 * 1024]) t.throws(() => blobsOf(node, { chunkBytes }), { code: 'BLOB_BAD_OPTIONS' });
  const upload = await world.run(blobs.beginUpload('..'));
  await world.run(upload.finish());
  t.equal((await world.rejection(upload.write([content(1)]))).code, 'BLOB_UPLOAD_CLOSED');
  t.equal((await world.run(blobs.stat('..'))).bytes, 0);
});

/** An uploader's life: puts, replaces, deletes. */
async function life(blobs: BlobStore): Promise<void> {
  await blobs.put('a', pieces(content(250, 1)));
  await blobs.put('b', pieces(content(150, 2)));
  await blobs.put('a', pieces(content(350, 3)));
  await blobs.delete('b');
}

t.test('blob store: the process dies at each write to the metadata → every blob is whole or not there, and what is not needed goes', async (t) => {
  const attempt = async (world: LogWorld, point: CrashPoint | undefined) => {
    const node = world.node();
    if (point !== undefined) node.store.crashAt(point);
    let isDone = false;
    const running = life(blobsOf(node)).then(() => {
      isDone = true;
    });
    await world.queue.run({ until: () => isDone || node.store.isCrashed, untilMs: world.queue.nowMs + 60_000 });
    if (isDone) await running;
    return node.store.writesCount;
  };
  const count = await attempt(new LogWorld(), undefined);
  t.ok(count > 20, `${count} writes`);
  for (let call = 1; call <= count; call++) {
    for (const when of ['before', 'after'] as const) {
      const what = `${when} write ${call}`;
      const world = new LogWorld();
      await attempt(world, { call, when });
      const blobs = blobsOf(world.node());
      const check = async () => {
        for (const { name } of (await world.run(blobs.list())).blobs) {
          const bytes = await world.run(read(blobs, name));
          const wanted = name === 'a' ? [content(250, 1), content(350, 3)] : [content(150, 2)];
          t.ok(
            wanted.some((one) => one.equals(bytes)),
            `${what}: ${name}`,
          );
        }
      };
      await check();
      const before = (await world.run(blobs.list())).blobs;
      await world.runFor(1_000);
      await world.run(blobs.removeAbandoned(500));
      await check();
      const after = (await world.run(blobs.list())).blobs;
      t.ok(after.length >= before.length, `${what}: nothing that could be seen is taken away`);
      t.same(await world.run(blobs.uploads()), [], what);
      t.ok(ledgersOf(world).length <= after.length + 1, `${what}: at most the ledger that was being made is left`);
      await world.run(life(blobs));
      t.same(
        (await world.run(blobs.list())).blobs.map(({ name, bytes }) => [name, bytes]),
        [['a', 350]],
        what,
      );
    }
  }
});

t.test('blob store: a committer that sleeps → does not bring back what was replaced or deleted since', async (t) => {
  for (const then of ['replaced', 'deleted']) {
    const world = new LogWorld();
    const sleeper = world.node();
    const other = blobsOf(world.node());
    const upload = await world.run(blobsOf(sleeper).beginUpload('a'));
    await world.run(upload.write([content(150, 1)]));
    let wake = () => {};
    const slept = new Promise<void>((resolve) => {
      wake = resolve;
    });
    sleeper.store.beforeWrite = (path) => (path === '/daybook/blobs/objects/a' ? slept : undefined);
    const finishing = upload.finish();
    await world.runFor(1_000);
    // Somebody finishes for it; then the blob goes.
    await world.run(other.removeAbandoned(500));
    t.equal((await world.run(other.stat('a'))).bytes, 150);
    if (then === 'replaced') await world.run(other.put('a', [content(250, 2)]));
    else await world.run(other.delete('a'));
    wake();
    await world.run(finishing);
    await world.runFor(1_000);
    if (then === 'replaced') t.same(await world.run(read(other, 'a')), content(250, 2));
    else t.equal((await world.rejection(other.stat('a'))).code, 'BLOB_NOT_FOUND');
    t.equal(ledgersOf(world).length, then === 'replaced' ? 1 : 0);
    await world.runFor(2 * 60 * 60 * 1000);
    await world.run(other.removeAbandoned());
    t.equal(world.tree.tree.children('/daybook/blobs/objects').length, 1, 'the tombstone stays for a day');
    await world.runFor(24 * 60 * 60 * 1000);
    await world.run(other.removeAbandoned());
    t.equal(world.tree.tree.children('/daybook/blobs/objects').length, then === 'replaced' ? 1 : 0);
  }
});
