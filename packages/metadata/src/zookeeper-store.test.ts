import { connect, createServer } from 'node:net';
import { RealClock } from '@daybook/runtime/real';
import t, { type Test } from 'tap';
import { testMetadataStore } from './conformance.js';
import type { MetadataStore, SessionState } from './metadata-store.js';
import { TcpProxy } from './testing/tcp-proxy.js';
import { ZooKeeperServer } from './zookeeper-server.js';
import { openZooKeeperStore, type ZooKeeperStore } from './zookeeper-store.js';

const clock = new RealClock();
const bytes = (text: string) => Buffer.from(text);
const sessionMs = 1_500;

if (process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1') {
  t.test('ZooKeeper store: not tested', { skip: 'DAYBOOK_WITHOUT_ZOOKEEPER=1' }, async () => undefined);
} else {
  // Without ZooKeeper this rejects, and the file fails with what to do about it.
  const server = await ZooKeeperServer.start({ tickMs: 500 });
  t.teardown(() => server.stop());
  await testConformance(server);
  await testFaults(server);
  await testRestarts(server);
}

async function testConformance(server: ZooKeeperServer): Promise<void> {
  let roots = 0;
  await testMetadataStore(t, 'ZooKeeper store', async () => {
    roots += 1;
    const options = { url: `zk://${server.address}/conformance/${roots}`, clock, metadataSessionTimeoutMs: 5_000 };
    const first = await openZooKeeperStore(options);
    const second = await openZooKeeperStore(options);
    return {
      first,
      second,
      endFirst: async () => {
        await first.close();
        return second;
      },
      close: async () => {
        await first.close();
        await second.close();
      },
    };
  });
}

/** A store behind a proxy, and one beside it that looks on. */
async function withProxy(
  server: ZooKeeperServer,
  tt: Test,
  body: (x: { store: ZooKeeperStore; proxy: TcpProxy; other: MetadataStore }) => Promise<void>,
) {
  const proxy = await TcpProxy.start(server.port);
  const root = `/faults/${tt.name.replace(/[^a-z]+/gi, '-')}`;
  const store = await openZooKeeperStore({ url: `zk://127.0.0.1:${proxy.port}${root}`, clock, metadataSessionTimeoutMs: sessionMs });
  const other = await openZooKeeperStore({ url: `zk://${server.address}${root}`, clock });
  try {
    await body({ store, proxy, other });
  } finally {
    proxy.open();
    await store.close();
    await other.close();
    await proxy.stop();
  }
}

async function reaches(store: MetadataStore, state: SessionState): Promise<void> {
  if (store.session === state) return;
  await new Promise<void>((resolve) => {
    const watch = store.onSession((now) => {
      if (now !== state) return;
      watch.stop();
      resolve();
    });
  });
}

async function valueAppears(store: MetadataStore, path: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const look = () => {
      store.get(path).then(
        (found) => {
          if (found === undefined) return;
          watch.stop();
          resolve();
        },
        // During a cut: the watch wakes us again after the reconnect.
        () => undefined,
      );
    };
    const watch = store.watch(path, look);
    look();
  });
}

async function testFaults(server: ZooKeeperServer): Promise<void> {
  await t.test('ZooKeeper store: cut connection -> suspended, connected, same session, ephemeral value kept', async (tt) => {
    await withProxy(server, tt, async ({ store, proxy, other }) => {
      const states: SessionState[] = [];
      store.onSession((state) => states.push(state));
      await store.put('/live', bytes('x'), 'absent', { ephemeral: true });
      proxy.cut();
      await reaches(store, 'suspended');
      await reaches(store, 'connected');
      tt.equal((await store.get('/live'))?.ownEphemeral, true);
      tt.ok(await other.get('/live'));
      tt.strictSame(states, ['suspended', 'connected']);
    });
  });

  await t.test('ZooKeeper store: watch over a cut -> a change made meanwhile wakes it, and so do later ones', async (tt) => {
    await withProxy(server, tt, async ({ store, proxy, other }) => {
      const appeared = valueAppears(store, '/during');
      proxy.refuse();
      await reaches(store, 'suspended');
      await other.put('/during', bytes('x'), 'absent');
      proxy.open();
      await appeared;
      const later = valueAppears(store, '/later');
      await other.put('/later', bytes('x'), 'absent');
      await later;
      tt.pass();
    });
  });

  await t.test('ZooKeeper store: session expired -> lost, connected; its values are gone, watches live on, new values can be made', async (tt) => {
    await withProxy(server, tt, async ({ store, proxy, other }) => {
      const states: SessionState[] = [];
      store.onSession((state) => states.push(state));
      await store.put('/live', bytes('x'), 'absent', { ephemeral: true });
      const appeared = valueAppears(store, '/later');
      proxy.refuse();
      const gone = new Promise<void>((resolve) => {
        const watch = other.watch('/live', () => {
          other.get('/live').then((found) => {
            if (found !== undefined) return;
            watch.stop();
            resolve();
          }, tt.threw);
        });
      });
      await gone;
      proxy.open();
      await reaches(store, 'lost');
      await reaches(store, 'connected');
      tt.strictSame(states, ['suspended', 'lost', 'connected']);
      tt.equal(await store.get('/live'), undefined);
      await store.put('/live', bytes('y'), 'absent', { ephemeral: true });
      tt.equal((await store.get('/live'))?.ownEphemeral, true);
      await other.put('/later', bytes('x'), 'absent');
      await appeared;
    });
  });

  await t.test('ZooKeeper store: no connection -> an operation ends with METADATA_UNAVAILABLE within the session time-out', async (tt) => {
    await withProxy(server, tt, async ({ store, proxy }) => {
      proxy.refuse();
      await reaches(store, 'suspended');
      const beganMs = clock.monoMs();
      await Promise.all([
        tt.rejects(store.get('/a'), { code: 'METADATA_UNAVAILABLE', retry: 'later' }),
        tt.rejects(store.put('/a', bytes(''), 'any'), { code: 'METADATA_UNAVAILABLE' }),
        tt.rejects(store.children('/a'), { code: 'METADATA_UNAVAILABLE' }),
        tt.rejects(store.delete('/a', 'any'), { code: 'METADATA_UNAVAILABLE' }),
      ]);
      const tookMs = clock.monoMs() - beganMs;
      tt.ok(tookMs > sessionMs * 0.9 && tookMs < sessionMs + 1_000, `took ${tookMs} ms`);
    });
  });

  await t.test('ZooKeeper store: network that drops everything -> noticed without an answer, and all works again afterwards', async (tt) => {
    await withProxy(server, tt, async ({ store, proxy, other }) => {
      await store.put('/a', bytes('1'), 'absent');
      proxy.silence();
      await reaches(store, 'suspended');
      proxy.open();
      await reaches(store, 'connected');
      await store.put('/b', bytes('1'), 'absent');
      tt.ok(await other.get('/b'));
    });
  });

  await testLostAnswers(server);

  await t.test('ZooKeeper store: nobody listens -> opening rejects with METADATA_UNAVAILABLE', async (tt) => {
    const proxy = await TcpProxy.start(server.port);
    proxy.refuse();
    await tt.rejects(openZooKeeperStore({ url: `zk://127.0.0.1:${proxy.port}/x`, clock, metadataSessionTimeoutMs: 300 }), {
      code: 'METADATA_UNAVAILABLE',
    });
    await proxy.stop();
  });

  await t.test('ZooKeeper store: a server that speaks something else -> METADATA_UNAVAILABLE, the process lives', async (tt) => {
    const impostor = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.resume();
      socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve));
    const { port } = impostor.address() as { port: number };
    await tt.rejects(openZooKeeperStore({ url: `zk://127.0.0.1:${port}/x`, clock, metadataSessionTimeoutMs: 300 }), { code: 'METADATA_UNAVAILABLE' });
    await new Promise((resolve) => impostor.close(resolve));
  });
}

/** The request arrives, the answer does not, then the connection breaks: what the write reports must agree with what is there. */
async function testLostAnswers(server: ZooKeeperServer): Promise<void> {
  const cases: {
    what: string;
    write: (store: MetadataStore) => Promise<unknown>;
    /** What somebody else does between the cut and the reconnect. */
    meanwhile?: (other: MetadataStore) => Promise<unknown>;
    expected: string;
  }[] = [
    { what: 'create ephemeral', write: (s) => s.put('/new', bytes('mine'), 'absent', { ephemeral: true }), expected: 'done' },
    { what: 'create', write: (s) => s.put('/new', bytes('mine'), 'absent'), expected: 'METADATA_UNAVAILABLE' },
    { what: 'create sequential', write: (s) => s.put('/new-', bytes('mine'), 'absent', { sequential: true }), expected: 'METADATA_UNAVAILABLE' },
    { what: 'replace a version', write: (s) => s.put('/old', bytes('mine'), 0), expected: 'METADATA_UNAVAILABLE' },
    {
      what: 'replace a version, changed twice since',
      write: (s) => s.put('/old', bytes('mine'), 0),
      meanwhile: (o) => o.put('/old', bytes('x'), 1),
      expected: 'METADATA_UNAVAILABLE',
    },
    { what: 'replace any', write: (s) => s.put('/old', bytes('mine'), 'any'), expected: 'done' },
    { what: 'delete any', write: (s) => s.delete('/old', 'any'), expected: 'done' },
    { what: 'delete a version', write: (s) => s.delete('/old', 0), expected: 'METADATA_UNAVAILABLE' },
    { what: 'delete a version that it has not', write: (s) => s.delete('/old', 1), expected: 'METADATA_BAD_VERSION' },
  ];
  for (const { what, write, meanwhile, expected } of cases) {
    await t.test(`ZooKeeper store: answer lost, ${what} -> ${expected}`, async (tt) => {
      await withProxy(server, tt, async ({ store, proxy, other }) => {
        await other.put('/old', bytes('0'), 'absent');
        const before = await state(other);
        proxy.swallowAnswers();
        const writing = write(store).then(
          () => 'done',
          (error: { code?: string }) => String(error.code),
        );
        if (expected !== 'METADATA_BAD_VERSION') await changes(other, before);
        proxy.refuse();
        await meanwhile?.(other);
        proxy.open();
        tt.equal(await writing, expected);
      });
    });
  }

  await t.test('ZooKeeper store: request lost -> tried again after the reconnect, once', async (tt) => {
    await withProxy(server, tt, async ({ store, proxy, other }) => {
      await other.put('/old', bytes('0'), 'absent');
      proxy.silence();
      const writes = Promise.all([
        store.put('/old', bytes('1'), 0),
        store.put('/new', bytes('x'), 'absent'),
        store.put('/live', bytes('x'), 'absent', { ephemeral: true }),
      ]);
      await proxy.dropped();
      proxy.refuse();
      proxy.open();
      tt.strictSame(
        (await writes).map((each) => each.version),
        [1, 0, 0],
      );
      tt.equal((await other.get('/old'))?.version, 1);
    });
  });
}

async function state(store: MetadataStore): Promise<string> {
  return JSON.stringify([await store.children('/'), await store.get('/old')]);
}

async function changes(store: MetadataStore, before: string): Promise<void> {
  while ((await state(store)) === before) await clock.sleep(5);
}

async function testRestarts(server: ZooKeeperServer): Promise<void> {
  await t.test('ZooKeeper store: server killed and started again -> values, session and watches live on', async (tt) => {
    const store = await openZooKeeperStore({ url: `zk://${server.address}/restart`, clock, metadataSessionTimeoutMs: 10_000 });
    await store.put('/kept', bytes('x'), 'absent');
    await store.put('/live', bytes('x'), 'absent', { ephemeral: true });
    const appeared = valueAppears(store, '/later');
    await store.get('/later');
    await server.kill9();
    await reaches(store, 'suspended');
    const waiting = store.put('/while-down', bytes('x'), 'absent');
    await server.restart();
    await reaches(store, 'connected');
    await waiting;
    tt.strictSame((await store.get('/kept'))?.value, bytes('x'));
    tt.equal((await store.get('/live'))?.ownEphemeral, true);
    await store.put('/later', bytes('x'), 'absent');
    await appeared;
    await store.close();
  });

  await t.test(
    'ZooKeeper store: server stopped still (SIGSTOP) past the session time-out -> noticed, operations end, back to work afterwards',
    async (tt) => {
      const store = await openZooKeeperStore({ url: `zk://${server.address}/stopped`, clock, metadataSessionTimeoutMs: sessionMs });
      server.pause();
      await tt.rejects(store.put('/a', bytes('x'), 'absent'), { code: 'METADATA_UNAVAILABLE' });
      await tt.rejects(store.get('/a'), { code: 'METADATA_UNAVAILABLE' });
      server.resume();
      await reaches(store, 'connected');
      await store.put('/b', bytes('x'), 'any');
      await store.close();
    },
  );

  await t.test('ZooKeeper store: closed while the server is away -> ends soon, and leaves no socket behind', async (tt) => {
    const store = await openZooKeeperStore({ url: `zk://${server.address}/closing`, clock, metadataSessionTimeoutMs: sessionMs });
    server.pause();
    await store.close();
    server.resume();
    await tt.rejects(store.get('/a'), { code: 'METADATA_CLOSED' });
    const probe = connect({ host: '127.0.0.1', port: server.port });
    await new Promise<void>((resolve) => probe.once('connect', resolve));
    probe.destroy();
  });

  await t.test('ZooKeeper store: typical write and read -> a few milliseconds', async (tt) => {
    const store = await openZooKeeperStore({ url: `zk://${server.address}/latency`, clock });
    const tookMs: number[] = [];
    for (let i = 0; i < 100; i++) {
      const beganMs = clock.monoMs();
      await store.put('/x', bytes(`${i}`), 'any');
      await store.get('/x');
      tookMs.push(clock.monoMs() - beganMs);
    }
    tookMs.sort((a, b) => a - b);
    tt.comment(`write and read: median ${tookMs[50]?.toFixed(2)} ms`);
    tt.ok((tookMs[50] as number) < 20, `median ${tookMs[50]} ms for both`);
    await store.close();
  });
}
