import type { Test } from 'tap';
import { pathBytesMax } from './metadata-path.js';
import type { MetadataStore } from './metadata-store.js';
import { valueBytesMax } from './put-checks.js';

/** What the suite needs to know of a store under test; `open` gives a fresh, empty one for each test. */
export interface StoreHarness {
  first: MetadataStore;
  /** Another session on the same tree; the same object where the store has only one. */
  second: MetadataStore;
  /** Ends the first session as a crash or expiry would; resolves to a store that sees what is left. */
  endFirst(): Promise<MetadataStore>;
  close(): Promise<void>;
}

const bytes = (text: string) => Buffer.from(text);

/** Every store passes these. Call it once per implementation. */
export async function testMetadataStore(t: Test, name: string, open: () => Promise<StoreHarness>): Promise<void> {
  const check = async (what: string, body: (t: Test, harness: StoreHarness) => Promise<void>) => {
    await t.test(`${name}: ${what}`, async (tt) => {
      const harness = await open();
      try {
        await body(tt, harness);
      } finally {
        await harness.close();
      }
    });
  };
  await testValues(check);
  await testNames(check);
  await testEphemeral(check);
  await testWatches(check);
  await testConcurrency(check);
}

type Check = (what: string, body: (t: Test, harness: StoreHarness) => Promise<void>) => Promise<void>;

async function testValues(check: Check): Promise<void> {
  await check('nothing at a path -> undefined and no children', async (t, { first }) => {
    t.equal(await first.get('/a'), undefined);
    t.equal(await first.get('/a/b/c'), undefined);
    t.strictSame(await first.children('/a'), []);
  });

  await check('put absent -> version 0, readable by every session', async (t, { first, second }) => {
    t.strictSame(await first.put('/a', bytes('one'), 'absent'), { path: '/a', version: 0 });
    t.strictSame(await second.get('/a'), { value: bytes('one'), version: 0, ownEphemeral: false });
  });

  await check('put absent on an existing value -> METADATA_EXISTS, unchanged', async (t, { first, second }) => {
    await first.put('/a', bytes('one'), 'absent');
    await t.rejects(second.put('/a', bytes('two'), 'absent'), { code: 'METADATA_EXISTS' });
    t.strictSame((await first.get('/a'))?.value, bytes('one'));
  });

  await check('put with a version -> that version only, +1 each time', async (t, { first, second }) => {
    await first.put('/a', bytes('0'), 'absent');
    t.equal((await second.put('/a', bytes('1'), 0)).version, 1);
    t.equal((await first.put('/a', bytes('2'), 1)).version, 2);
    await t.rejects(first.put('/a', bytes('x'), 1), { code: 'METADATA_BAD_VERSION' });
    await t.rejects(first.put('/a', bytes('x'), 3), { code: 'METADATA_BAD_VERSION' });
    t.strictSame(await first.get('/a'), { value: bytes('2'), version: 2, ownEphemeral: false });
  });

  await check('put with a version where nothing is -> METADATA_BAD_VERSION', async (t, { first }) => {
    await t.rejects(first.put('/a', bytes('x'), 0), { code: 'METADATA_BAD_VERSION' });
    t.equal(await first.get('/a'), undefined);
  });

  await check('put any -> creates, then replaces', async (t, { first }) => {
    t.equal((await first.put('/a/b', bytes('0'), 'any')).version, 0);
    t.equal((await first.put('/a/b', bytes('1'), 'any')).version, 1);
    t.strictSame((await first.get('/a/b'))?.value, bytes('1'));
  });

  await check('put under missing parents -> they are made, with empty values', async (t, { first }) => {
    await first.put('/a/b/c', bytes('x'), 'absent');
    t.strictSame(await first.get('/a/b'), { value: Buffer.alloc(0), version: 0, ownEphemeral: false });
    t.strictSame(await first.children('/a'), ['b']);
    await first.put('/a/b', bytes('parent'), 0);
    t.strictSame((await first.get('/a/b/c'))?.value, bytes('x'));
  });

  await check('empty and binary values -> come back as they were', async (t, { first }) => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    await first.put('/empty', Buffer.alloc(0), 'absent');
    await first.put('/all', all, 'absent');
    t.strictSame((await first.get('/empty'))?.value, Buffer.alloc(0));
    t.strictSame((await first.get('/all'))?.value, all);
  });

  await check('a value changed by its giver or reader -> the stored one is not', async (t, { first }) => {
    const value = bytes('abc');
    const writing = first.put('/a', value, 'absent');
    value.fill(0);
    await writing;
    (await first.get('/a'))?.value.fill(1);
    t.strictSame((await first.get('/a'))?.value, bytes('abc'));
  });

  await check('delete -> gone; with a wrong version, missing or with children -> refused', async (t, { first }) => {
    await first.put('/a/b', bytes('0'), 'absent');
    await first.put('/a/b', bytes('1'), 0);
    await t.rejects(first.delete('/a/b', 0), { code: 'METADATA_BAD_VERSION' });
    await t.rejects(first.delete('/a', 'any'), { code: 'METADATA_NOT_EMPTY' });
    await t.rejects(first.delete('/nothing', 'any'), { code: 'METADATA_NOT_FOUND' });
    await t.rejects(first.delete('/nothing', 3), { code: 'METADATA_NOT_FOUND' });
    await first.delete('/a/b', 1);
    t.equal(await first.get('/a/b'), undefined);
    await first.delete('/a', 'any');
    t.equal(await first.get('/a'), undefined);
  });

  await check('made again after a delete -> version 0', async (t, { first }) => {
    await first.put('/a', bytes('0'), 'absent');
    await first.put('/a', bytes('1'), 0);
    await first.delete('/a', 'any');
    t.equal((await first.put('/a', bytes('2'), 'absent')).version, 0);
  });

  await check('largest value -> taken; one byte more -> METADATA_TOO_LARGE, and the store works on', async (t, { first }) => {
    const largest = Buffer.alloc(valueBytesMax, 7);
    await first.put('/large', largest, 'absent');
    t.ok((await first.get('/large'))?.value.equals(largest));
    await t.rejects(first.put('/larger', Buffer.alloc(valueBytesMax + 1), 'absent'), { code: 'METADATA_TOO_LARGE' });
    t.equal(await first.get('/larger'), undefined);
  });

  await check('sequential -> ten digits, rising, never used again after deletes', async (t, { first, second }) => {
    const made: string[] = [];
    for (let i = 0; i < 5; i++) {
      const { path } = await (i % 2 === 0 ? first : second).put('/ids/ID-', bytes(''), 'absent', { sequential: true });
      made.push(path);
      await first.delete(path, 'any');
    }
    await first.put('/ids/other', bytes(''), 'absent');
    made.push((await first.put('/ids/ID-', bytes('x'), 'absent', { sequential: true })).path);
    for (const path of made) t.match(path, /^\/ids\/ID-\d{10}$/);
    t.strictSame([...new Set(made)].sort(), made, 'strictly rising');
    t.strictSame((await second.get(made.at(-1) as string))?.value, bytes('x'));
  });
}

async function testNames(check: Check): Promise<void> {
  await check('children -> complete, sorted, direct ones only', async (t, { first }) => {
    const names = Array.from({ length: 300 }, (_, i) => `n${(i * 7919) % 1000}`);
    await Promise.all(names.map((each) => first.put(`/p/${each}`, bytes(each), 'absent')));
    await first.put('/p/n0/below', bytes(''), 'absent');
    t.strictSame(await first.children('/p'), [...names].sort());
    await first.delete('/p/n7', 'any').catch(() => undefined);
    t.notOk((await first.children('/p')).includes('n7'));
  });

  await check('names with spaces, percent signs and letters of the world -> kept as they are', async (t, { first, second }) => {
    const names = ['with space', '100%25', '%C3%BC+x', 'grüße', '日本語', "quo'te", '[*]', 'a:b=c', '-', '...', 'Ω'];
    for (const each of names) await first.put(`/names/${each}/child`, bytes(each), 'absent');
    t.strictSame(await second.children('/names'), [...names].sort());
    for (const each of names) t.strictSame((await second.get(`/names/${each}/child`))?.value, bytes(each), each);
  });

  await check('bad paths -> METADATA_BAD_PATH from every method', async (t, { first }) => {
    const bad = [
      '',
      'a',
      'a/b',
      '//',
      '/a//b',
      '/a/',
      '/.',
      '/..',
      '/a/./b',
      '/a/../b',
      '/a\u0000b',
      '/a\nb',
      '/\ud83d',
      '/a\u0085',
      `/${'x'.repeat(pathBytesMax)}`,
    ];
    for (const path of bad) {
      await t.rejects(first.get(path), { code: 'METADATA_BAD_PATH' }, JSON.stringify(path.slice(0, 20)));
      await t.rejects(first.put(path, bytes(''), 'any'), { code: 'METADATA_BAD_PATH' });
      await t.rejects(first.delete(path, 'any'), { code: 'METADATA_BAD_PATH' });
      await t.rejects(first.children(path), { code: 'METADATA_BAD_PATH' });
      t.throws(() => first.watch(path, () => undefined), { code: 'METADATA_BAD_PATH' });
    }
    await t.rejects(first.put('/', bytes(''), 'any'), { code: 'METADATA_BAD_PATH' });
    await t.rejects(first.delete('/', 'any'), { code: 'METADATA_BAD_PATH' });
    await first.put('/still/works', bytes(''), 'absent');
    t.ok((await first.children('/')).includes('still'));
  });
}

async function testEphemeral(check: Check): Promise<void> {
  await check('ephemeral -> marked for its own session, gone when that ends, the rest stays', async (t, { first, second, endFirst }) => {
    await first.put('/live/a', bytes('a'), 'absent', { ephemeral: true });
    await first.put('/live/kept', bytes('k'), 'absent');
    const numbered = await first.put('/live/s-', bytes('s'), 'absent', { ephemeral: true, sequential: true });
    t.equal((await first.get('/live/a'))?.ownEphemeral, true);
    if (second !== first) t.equal((await second.get('/live/a'))?.ownEphemeral, false);
    t.equal((await first.put('/live/a', bytes('b'), 0)).version, 1, 'can be changed');
    const left = await endFirst();
    t.equal(await left.get('/live/a'), undefined);
    t.equal(await left.get(numbered.path), undefined);
    t.strictSame(await left.children('/live'), ['kept']);
    const next = await left.put('/live/s-', bytes(''), 'absent', { sequential: true });
    t.ok(next.path > numbered.path, 'its number is not used again');
  });

  await check('ephemeral that exists -> METADATA_EXISTS; deleted by hand -> gone', async (t, { first, second }) => {
    await first.put('/live/a', bytes('a'), 'absent', { ephemeral: true });
    await t.rejects(second.put('/live/a', bytes('b'), 'absent', { ephemeral: true }), { code: 'METADATA_EXISTS' });
    await second.delete('/live/a', 0);
    t.equal(await first.get('/live/a'), undefined);
  });

  await check('child of an ephemeral value -> METADATA_BAD_PATH', async (t, { first }) => {
    await first.put('/live/a', bytes('a'), 'absent', { ephemeral: true });
    await t.rejects(first.put('/live/a/b', bytes(''), 'absent'), { code: 'METADATA_BAD_PATH' });
    await t.rejects(first.put('/live/a/b/c', bytes(''), 'any'), { code: 'METADATA_BAD_PATH' });
  });

  await check('closed -> its own ephemeral values go, every call says METADATA_CLOSED, closing again is fine', async (t, { first, second }) => {
    const states: string[] = [];
    first.onSession((state) => states.push(state));
    await first.put('/live/a', bytes('a'), 'absent', { ephemeral: true });
    await first.close();
    await first.close();
    t.equal(first.session, 'closed');
    t.strictSame(states, ['closed']);
    if (second !== first) t.equal(await second.get('/live/a'), undefined);
    await t.rejects(first.get('/live/a'), { code: 'METADATA_CLOSED' });
    await t.rejects(first.put('/x', bytes(''), 'any'), { code: 'METADATA_CLOSED' });
    await t.rejects(first.children('/'), { code: 'METADATA_CLOSED' });
    await t.rejects(first.delete('/x', 'any'), { code: 'METADATA_CLOSED' });
  });
}

async function testWatches(check: Check): Promise<void> {
  const changes: { what: string; path: string; before: (s: MetadataStore) => Promise<unknown>; change: (s: MetadataStore) => Promise<unknown> }[] = [
    { what: 'created', path: '/w/x', before: async () => undefined, change: (s) => s.put('/w/x', bytes('1'), 'absent') },
    { what: 'changed', path: '/w/x', before: (s) => s.put('/w/x', bytes('0'), 'any'), change: (s) => s.put('/w/x', bytes('1'), 0) },
    { what: 'deleted', path: '/w/x', before: (s) => s.put('/w/x', bytes('0'), 'any'), change: (s) => s.delete('/w/x', 'any') },
    { what: 'given its first child', path: '/w', before: async () => undefined, change: (s) => s.put('/w/x', bytes(''), 'absent') },
    { what: 'given another child', path: '/w', before: (s) => s.put('/w/a', bytes(''), 'any'), change: (s) => s.put('/w/b', bytes(''), 'any') },
    { what: 'losing a child', path: '/w', before: (s) => s.put('/w/a', bytes(''), 'any'), change: (s) => s.delete('/w/a', 'any') },
  ];
  for (const { what, path, before, change } of changes) {
    await check(`watched path ${what} -> the listener is called, also the second time`, async (t, { first, second }) => {
      await before(second);
      const seen = new CallCounter();
      const watch = first.watch(path, () => seen.called());
      await first.get(path);
      await first.children(path);
      let count = seen.count;
      await change(second);
      await seen.atLeast(count + 1);
      await first.put(`${path}/again`, bytes(''), 'any');
      await first.get(path);
      await first.children(path);
      count = seen.count;
      await second.delete(`${path}/again`, 'any');
      await seen.atLeast(count + 1);
      watch.stop();
      t.pass();
    });
  }

  await check('two listeners at one path, one stopped -> the other one still hears; stopped ones never', async (t, { first, second }) => {
    const stopped = new CallCounter();
    const kept = new CallCounter();
    first.watch('/w', () => stopped.called()).stop();
    const watch = first.watch('/w', () => kept.called());
    await first.get('/w');
    const count = kept.count;
    await second.put('/w', bytes('1'), 'absent');
    await kept.atLeast(count + 1);
    t.equal(stopped.count, 0);
    watch.stop();
    watch.stop();
  });

  await check('watcher that reads again after each call -> ends up with the last value', async (t, { first, second }) => {
    await second.put('/w', bytes('0'), 'absent');
    const done = new CallCounter();
    let last = '';
    const readAgain = async () => {
      last = (await first.get('/w'))?.value.toString() ?? '';
      if (last === '100') done.called();
    };
    const watch = first.watch('/w', () => void readAgain().catch(() => undefined));
    await first.get('/w');
    for (let i = 1; i <= 100; i++) await second.put('/w', bytes(String(i)), 'any');
    await done.atLeast(1);
    t.equal(last, '100');
    watch.stop();
  });

  await check('ephemeral value gone with its session -> watchers of it and its parent are called', async (t, { first, second, endFirst }) => {
    if (first === second) {
      t.pass('this store has one session');
      return;
    }
    await first.put('/live/a', bytes(''), 'absent', { ephemeral: true });
    const value = new CallCounter();
    const parent = new CallCounter();
    second.watch('/live/a', () => value.called());
    second.watch('/live', () => parent.called());
    await second.get('/live/a');
    const [values, parents] = [value.count, parent.count];
    await endFirst();
    await value.atLeast(values + 1);
    await parent.atLeast(parents + 1);
    t.equal(await second.get('/live/a'), undefined);
  });
}

async function testConcurrency(check: Check): Promise<void> {
  await check('many writers with one expected version -> exactly one wins each round', async (t, { first, second }) => {
    await first.put('/cas', bytes('start'), 'absent');
    for (let version = 0; version < 20; version++) {
      const attempts = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? first : second).put('/cas', bytes(`${version}-${i}`), version));
      const results = await Promise.allSettled(attempts);
      const winners = results.flatMap((result, i) => (result.status === 'fulfilled' ? [i] : []));
      t.equal(winners.length, 1);
      for (const result of results) if (result.status === 'rejected') t.match(result.reason, { code: 'METADATA_BAD_VERSION' });
      t.strictSame((await first.get('/cas'))?.value, bytes(`${version}-${winners[0]}`));
    }
  });

  await check('many creators of one path -> exactly one wins', async (t, { first, second }) => {
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? first : second).put('/deep/new/one', bytes(`${i}`), 'absent')),
    );
    const winners = results.flatMap((result, i) => (result.status === 'fulfilled' ? [i] : []));
    t.equal(winners.length, 1);
    t.strictSame((await second.get('/deep/new/one'))?.value, bytes(`${winners[0]}`));
  });

  await check('compare-and-set counters -> no addition is lost', async (t, { first, second }) => {
    await first.put('/counter', bytes('0'), 'absent');
    const add = async (store: MetadataStore) => {
      for (;;) {
        const current = await store.get('/counter');
        if (current === undefined) throw new Error('the counter is gone');
        try {
          return await store.put('/counter', bytes(String(Number(current.value) + 1)), current.version);
        } catch (error) {
          if ((error as { code?: string }).code !== 'METADATA_BAD_VERSION') throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, i) => add(i % 2 === 0 ? first : second)));
    t.strictSame((await first.get('/counter'))?.value, bytes('20'));
  });

  await check('many sequential writers at once -> all different', async (t, { first, second }) => {
    const made = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? first : second).put('/q/n-', bytes(''), 'absent', { sequential: true })),
    );
    t.equal(new Set(made.map((each) => each.path)).size, 50);
    t.equal((await first.children('/q')).length, 50);
  });

  await check('many writers with any -> each counts as one version', async (t, { first, second }) => {
    const versions = (await Promise.all(Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? first : second).put('/any', bytes(`${i}`), 'any')))).map(
      (r) => r.version,
    );
    t.equal(new Set(versions).size, 20);
    t.equal((await first.get('/any'))?.version, 19);
  });
}

/** Counts calls; lets a test wait for them without sleeping. */
class CallCounter {
  count = 0;
  #waiting: { count: number; resolve: () => void }[] = [];

  called(): void {
    this.count += 1;
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      if (this.count < count) return true;
      resolve();
      return false;
    });
  }

  atLeast(count: number): Promise<void> {
    if (this.count >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }
}
