import { type BookieId, decodeCookie } from '@daybook/proto';
import { diskErrors } from '@daybook/runtime';
import { EventQueue, SimClock, SimDisk, SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { type CookieRecords, checkIdentity, type IdentityOptions } from './cookie.js';
import { LedgerDirectories } from './storage/ledger-directories.js';

class Records implements CookieRecords {
  readonly cookies = new Map<string, { bytes: Buffer; version: number }>();
  async read(id: BookieId) {
    return this.cookies.get(id);
  }
  async write(id: BookieId, bytes: Buffer, expected: number | 'absent') {
    const found = this.cookies.get(id);
    if ((found?.version ?? 'absent') !== expected) throw new Error('changed meanwhile');
    this.cookies.set(id, { bytes, version: (found?.version ?? -1) + 1 });
  }
}

class World {
  readonly queue = new EventQueue({ seed: 1 });
  disk = new SimDisk({ clock: new SimClock(this.queue) });
  readonly records = new Records();
  readonly random = new SimRandom('ids');
  readonly options: IdentityOptions = {
    disk: this.disk,
    random: this.random,
    journalDirectories: ['/d/journal'],
    ledgers: new LedgerDirectories(this.disk, ['/d/one', '/d/two']),
    bookieId: 'b1' as BookieId,
    instanceId: 'cluster-1',
    records: this.records,
    allowStorageExpansion: false,
    dataIntegrityChecking: false,
    dataDirectory: undefined,
  };

  async check({ ledgerDirectories, ...more }: Partial<IdentityOptions> & { ledgerDirectories?: string[] } = {}) {
    const ledgers = new LedgerDirectories(this.disk, ledgerDirectories ?? this.options.ledgers.all);
    const options = { ...this.options, ledgers, ...more };
    for (const path of [...options.journalDirectories, ...options.ledgers.all]) await this.queue.complete(this.disk.makeDirectory(path));
    return this.queue.complete(checkIdentity(options));
  }

  async use(): Promise<void> {
    await this.check();
    for (const path of ['/d/journal/0000000000000001.journal', '/d/one/lastMark', '/d/two/lastMark']) await this.write(path);
  }

  async write(path: string): Promise<void> {
    const file = await this.queue.complete(this.disk.open(path));
    await this.queue.complete(file.writeAt(0, Buffer.from('x')));
  }

  async wipe(directory: string): Promise<void> {
    for (const name of await this.queue.complete(this.disk.list(directory))) await this.queue.complete(this.disk.remove(`${directory}/${name}`));
  }
}

const all = ['/d/journal', '/d/one', '/d/two'];

t.test('cookie: new bookie → every directory and the store are stamped; known from then on', async (t) => {
  const world = new World();
  const first = await world.check();
  t.match(first, { bookieId: 'b1', isKnown: false });
  for (const path of all) {
    t.strictSame(decodeCookie(world.disk.peek(`${path}/VERSION`) as Buffer), {
      bookieId: 'b1',
      journalDirectories: ['/d/journal'],
      ledgerDirectories: ['/d/one', '/d/two'],
      instanceId: 'cluster-1',
      indexDirectories: undefined,
    });
  }
  t.ok(world.records.cookies.get('b1')?.bytes.equals(world.disk.peek('/d/one/VERSION') as Buffer));
  await world.use();
  const again = await world.check();
  t.strictSame(again, { ...first, isKnown: true });
});

t.test('cookie: no configured id → one is made up once and kept', async (t) => {
  const world = new World();
  const { bookieId } = await world.check({ bookieId: undefined });
  t.match(bookieId, /^[0-9a-f-]{36}$/);
  t.equal((await world.check({ bookieId: undefined })).bookieId, bookieId);
  t.equal((await world.check({ bookieId })).bookieId, bookieId);
});

t.test('cookie: died while stamping → finished at the next start', async (t) => {
  for (const step of ['/d/journal', '/d/one', 'store'] as const) {
    const world = new World();
    await world.check();
    world.records.cookies.clear();
    if (step !== 'store') for (const path of all.slice(all.indexOf(step) + 1)) await world.wipe(path);
    await world.check();
    t.ok(world.records.cookies.has('b1'), step);
    for (const path of all) t.ok(world.disk.peek(`${path}/VERSION`), step);
  }
});

const refusals: {
  name: string;
  text: RegExp;
  damage: (world: World) => Promise<unknown>;
  options?: Partial<IdentityOptions> & { ledgerDirectories?: string[] };
}[] = [
  {
    name: 'wiped disks under an old id',
    text: /its directories are empty/,
    damage: async (world) => {
      for (const path of all) await world.wipe(path);
    },
  },
  { name: 'one ledger disk wiped', text: /\/d\/two has no cookie: its disk is not mounted, or was wiped/, damage: (world) => world.wipe('/d/two') },
  {
    name: 'journal disk wiped, even while adding storage',
    text: /\/d\/journal has no cookie/,
    damage: (world) => world.wipe('/d/journal'),
    options: { allowStorageExpansion: true },
  },
  { name: 'cookie deleted from the store', text: /the metadata store has no cookie/, damage: async (world) => world.records.cookies.clear() },
  {
    name: 'store without a cookie, one disk wiped',
    text: /\/d\/one has no cookie/,
    damage: async (world) => {
      world.records.cookies.clear();
      await world.wipe('/d/one');
    },
  },
  { name: 'another cluster', text: /belong to cluster cluster-1/, damage: async () => {}, options: { instanceId: 'cluster-2' } },
  { name: 'another id', text: /belong to bookie b1, not b2/, damage: async () => {}, options: { bookieId: 'b2' as BookieId } },
  {
    name: 'a directory left out',
    text: /\/d\/two is not in ledgerDirectories any more/,
    damage: async () => {},
    options: { ledgerDirectories: ['/d/one'] },
  },
  {
    name: 'a directory added without saying so',
    text: /\/d\/three is new to this bookie/,
    damage: async () => {},
    options: { ledgerDirectories: ['/d/one', '/d/two', '/d/three'] },
  },
  {
    name: 'the disk of another bookie',
    text: /do not belong to the same bookie/,
    damage: async (world) => {
      const other = new World();
      await other.check({ bookieId: 'b9' as BookieId });
      const file = await world.queue.complete(world.disk.open('/d/two/VERSION'));
      await world.queue.complete(file.writeAt(0, other.disk.peek('/d/two/VERSION') as Buffer));
    },
  },
  {
    name: 'another bookie with the same id in the store',
    text: /the metadata store has another cookie/,
    damage: async (world) => {
      const bytes = Buffer.from(String(world.records.cookies.get('b1')?.bytes).replace('/d/one', '/e/one'));
      world.records.cookies.set('b1', { bytes, version: 4 });
    },
  },
];

for (const { name, text, damage, options } of refusals) {
  t.test(`cookie: ${name} → refused, nothing is written`, async (t) => {
    const world = new World();
    await world.use();
    await damage(world);
    const before = [...world.records.cookies.values()];
    await t.rejects(world.check(options), { code: 'BOOKIE_COOKIE_REFUSED', message: text });
    await t.rejects(world.check(options), { message: /`[^`]*daybook [a-z]/ }, 'it names a command');
    t.strictSame([...world.records.cookies.values()], before);
  });
}

t.test('cookie: directory with foreign files → refused', async (t) => {
  const world = new World();
  await world.queue.complete(world.disk.makeDirectory('/d/one'));
  await world.write('/d/one/thesis.doc');
  await t.rejects(world.check(), { code: 'BOOKIE_COOKIE_REFUSED', message: /\/d\/one holds files/ });
});

t.test('cookie: new empty directory with allowStorageExpansion → stamped everywhere', async (t) => {
  const world = new World();
  await world.use();
  const more = { ledgerDirectories: ['/d/one', '/d/two', '/d/three'] };
  await world.check({ ...more, allowStorageExpansion: true });
  t.match(await world.check(more), { isKnown: true });
  t.match(world.records.cookies.get('b1')?.version, 1);
});

t.test('cookie: data folder moved as a whole → known', async (t) => {
  const world = new World();
  await world.check({ dataDirectory: '/d' });
  t.strictSame(decodeCookie(world.disk.peek('/d/one/VERSION') as Buffer).ledgerDirectories, ['one', 'two']);
  for (const name of ['journal', 'one', 'two']) {
    await world.queue.complete(world.disk.makeDirectory(`/moved/${name}`));
    for (const file of ['VERSION', 'INCARNATION']) await world.queue.complete(world.disk.rename(`/d/${name}/${file}`, `/moved/${name}/${file}`));
  }
  const moved = { dataDirectory: '/moved', journalDirectories: ['/moved/journal'], ledgerDirectories: ['/moved/one', '/moved/two'] };
  t.match(await world.check(moved), { isKnown: true });
});

t.test('cookie: power cut at every step while a directory is added → finished by the next start that may, nothing is lost', async (t) => {
  const more = { ledgerDirectories: ['/d/one', '/d/two', '/d/three'], allowStorageExpansion: true };
  for (let crashAt = 0; ; crashAt++) {
    const world = new World();
    await world.use();
    await world.queue.complete(world.disk.makeDirectory('/d/three'));
    let operations = 0;
    let isDead = false;
    const { disk } = world;
    disk.beforeOperation = () => {
      if (operations++ !== crashAt) return;
      isDead = true;
      disk.crash({ keep: crashAt % 2 === 0 ? 'none' : 'random' });
    };
    let isDone = false;
    const { ledgerDirectories, ...permission } = more;
    checkIdentity({ ...world.options, ...permission, ledgers: new LedgerDirectories(disk, ledgerDirectories) }).then(
      () => {
        isDone = true;
      },
      () => undefined,
    );
    await world.queue.run({ until: () => isDead || isDone, untilMs: world.queue.nowMs + 10_000 });
    world.disk = disk.boot(new SimClock(world.queue));
    world.options.disk = world.disk;
    t.match(await world.check(more), { isKnown: true });
    t.match(await world.check({ ledgerDirectories: more.ledgerDirectories }), { isKnown: true }, 'and needs no permission any more');
    t.equal(decodeCookie(world.records.cookies.get('b1')?.bytes as Buffer).ledgerDirectories.length, 3);
    if (!isDead) {
      t.ok(crashAt > 20, `${crashAt} steps`);
      return;
    }
  }
});

t.test('cookie: directory added while the store was not told → told by the next start that may', async (t) => {
  const world = new World();
  await world.use();
  const more = { ledgerDirectories: ['/d/one', '/d/two', '/d/three'] };
  const old = world.records.cookies.get('b1') as { bytes: Buffer; version: number };
  await world.check({ ...more, allowStorageExpansion: true });
  world.records.cookies.set('b1', old);
  await t.rejects(world.check(more), { code: 'BOOKIE_COOKIE_REFUSED' });
  await world.check({ ...more, allowStorageExpansion: true });
  t.match(await world.check(more), { isKnown: true });
});

t.test('cookie: known ledger disk wiped while others are added → refused', async (t) => {
  const world = new World();
  await world.use();
  await world.wipe('/d/two');
  const more = { ledgerDirectories: ['/d/one', '/d/two', '/d/three'], allowStorageExpansion: true };
  await t.rejects(world.check(more), { code: 'BOOKIE_COOKIE_REFUSED', message: /\/d\/two has no cookie/ });
});

t.test('cookie: failing ledger directory → left out when others vouch for the bookie; never for a new one', async (t) => {
  const world = new World();
  const failing = (ledgerDirectories: string[]) => {
    const ledgers = new LedgerDirectories(world.disk, ledgerDirectories);
    ledgers.takeOut('/d/two', diskErrors.IO('/d/two', 'dead'));
    return ledgers;
  };
  await t.rejects(world.check({ ledgers: failing(['/d/one', '/d/two']) }), { code: 'DISK_IO' });
  await world.use();
  t.match(await world.check({ ledgers: failing(['/d/one', '/d/two']) }), { isKnown: true });
  const more = { ledgers: failing(['/d/one', '/d/two', '/d/three']), allowStorageExpansion: true };
  await world.queue.complete(world.disk.makeDirectory('/d/three'));
  await t.rejects(world.check(more), { code: 'DISK_IO' }, 'no time to add storage');
});

t.test(
  'cookie: all disks new, approved by an operator → stamped as other disks of the same bookie, in limbo first; died anywhere in between → refused without approval',
  async (t) => {
    const world = new World();
    await world.use();
    const before = await world.check();
    for (const path of all) await world.wipe(path);
    await t.rejects(world.check(), { code: 'BOOKIE_COOKIE_REFUSED' });
    await t.rejects(
      world.check({ dataIntegrityChecking: true, ledgerDirectories: ['/d/one'] }),
      { code: 'BOOKIE_COOKIE_REFUSED' },
      'other directories',
    );
    const now = await world.check({ dataIntegrityChecking: true });
    t.equal(now.bookieId, before.bookieId);
    t.not(now.incarnation, before.incarnation);
    for (const path of ['/d/one', '/d/two']) t.ok((await world.queue.complete(world.disk.list(path))).includes('LIMBO'), path);
    t.equal((await world.check()).incarnation, now.incarnation, 'from then on it is known');
    for (const name of ['VERSION', 'INCARNATION']) await world.queue.complete(world.disk.remove(`/d/two/${name}`));
    await t.rejects(world.check(), { code: 'BOOKIE_COOKIE_REFUSED' });
    t.equal((await world.check({ dataIntegrityChecking: true })).incarnation, now.incarnation, 'finished');
  },
);

t.test('cookie: one disk of several is new → refused, approval or not', async (t) => {
  const world = new World();
  await world.use();
  await world.wipe('/d/two');
  await t.rejects(world.check({ dataIntegrityChecking: true }), { code: 'BOOKIE_COOKIE_REFUSED' });
});
