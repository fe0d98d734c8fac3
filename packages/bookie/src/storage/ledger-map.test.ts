import { below, silentLogger } from '@daybook/runtime';
import { EventQueue, SimClock, SimDisk, SimRandom } from '@daybook/runtime/sim';
import t, { type Test } from 'tap';
import { crashPoints } from '../testing/crash-points.js';
import type { LogExtent } from './checkpoint-format.js';
import { encodeIndexHeader, indexFileName, indexHeaderBytes, type LedgerRow } from './index-format.js';
import { buildIndexTable } from './index-table.js';
import { LedgerCache } from './ledger-cache.js';
import { LedgerDirectories } from './ledger-directories.js';
import { LedgerMap } from './ledger-map.js';
import { LedgerMapFile } from './ledger-map-file.js';
import { LedgerMapWriter } from './ledger-map-writer.js';
import { LogFiles } from './log-files.js';
import type { LogRange } from './log-ranges.js';
import { OpenIndex } from './open-index.js';

const directory = '/data';
/** Two rows, the block table, two logs. */
const golden =
  '0000000000000003000000000000000a00000000000000130000000000000001' +
  '0000010000000000000000000000000000000002000000000000000000000002' +
  '00000000000000039d0ce16c' +
  '000000000000000100000000000000c80000000000000002000000000000012c';

/** A ledger map over logs that consist of nothing but their index, and what it should say. */
class World {
  readonly queue = new EventQueue({ seed: 1 });
  readonly random: SimRandom;
  readonly logs = new Map<number, LogExtent>();
  readonly rows = new Map<number, LedgerRow[]>();
  readonly ledgers = new Set<number>();
  readonly damaged: number[] = [];
  readonly bytesMax: number;
  disk: SimDisk;
  cache!: LedgerCache;
  map!: LedgerMap;
  nextLogId = 1;

  constructor(seed: number, bytesMax: number) {
    this.random = new SimRandom(`map ${seed}`);
    this.bytesMax = bytesMax;
    this.disk = new SimDisk({ clock: new SimClock(this.queue) });
  }

  run<T>(task: Promise<T>): Promise<T> {
    return this.queue.complete(task);
  }

  async open(): Promise<void> {
    if (!this.disk.isDead) this.disk.crash({ keep: 'none' });
    this.disk = this.disk.boot(new SimClock(this.queue));
    const { disk } = this;
    await this.run(disk.makeDirectory(directory));
    const files = new LogFiles(disk, 8);
    for (const logId of this.logs.keys()) files.add(logId, directory);
    this.cache = new LedgerCache(files, 1 << 16);
    this.map = new LedgerMap({
      disk,
      directories: new LedgerDirectories(disk, [directory]),
      files,
      cache: this.cache,
      bytesMax: this.bytesMax,
      logger: silentLogger,
      isLog: (logId) => this.logs.has(logId),
      hasLedger: (ledgerId) => this.ledgers.has(ledgerId),
      onSpilled: () => undefined,
      onDamaged: ({ logId }) => void this.damaged.push(logId),
    });
    await this.run(this.map.load(this.sealed()));
    this.files = files;
  }

  files!: LogFiles;

  sealed(): LogExtent[] {
    return [...this.logs.values()].sort((a, b) => a.logId - b.logId);
  }

  /** Seals a log with a part of each of some ledgers, and publishes it. */
  async addLog(ledgersCount: number, { spills = true } = {}): Promise<void> {
    const logId = this.nextLogId++;
    const index = new OpenIndex();
    let position = 64;
    for (let i = 0; i < ledgersCount; i++) {
      const ledgerId = below(this.random, 400);
      this.ledgers.add(ledgerId);
      const positions = Uint32Array.of(position, position + 10, position + 20);
      index.add({ ledgerId, firstEntryId: below(this.random, 1000), count: 2, positions, at: 0 });
      position += 20;
    }
    const table = buildIndexTable(index, logId, { offset: indexHeaderBytes, logBytes: position, holeBytes: 0 });
    const file = await this.run(this.disk.open(`${directory}/${indexFileName(logId)}`, { mode: 'create' }));
    await this.run(file.writeAt(0, Buffer.concat([encodeIndexHeader(logId), table.bytes])));
    await this.run(file.sync());
    await this.run(this.disk.syncDirectory(directory));
    const log = { logId, logBytes: position, indexBytes: indexHeaderBytes + table.bytes.length, isSealed: true, isCompacted: false };
    this.files.add(logId, directory);
    this.map.addLog(log, table.ledgers);
    this.logs.set(logId, log);
    this.rows.set(logId, table.ledgers);
    if (spills) await this.run(this.map.spill(this.sealed()));
  }

  removeLog(): void {
    const ids = [...this.logs.keys()];
    if (ids.length > 0) this.logs.delete(ids[below(this.random, ids.length)] as number);
  }

  expected(ledgerId: number): LogRange[] {
    return this.sealed().flatMap(({ logId }) => {
      const row = this.rows.get(logId)?.find((candidate) => candidate.ledgerId === ledgerId);
      return row === undefined ? [] : [{ logId, first: row.firstEntryId, last: row.lastEntryId }];
    });
  }

  async check(t: Test, when: string): Promise<void> {
    for (let ledgerId = 0; ledgerId < 400; ledgerId++) {
      if (!this.ledgers.has(ledgerId)) continue;
      const expected = this.expected(ledgerId);
      const found = await this.run(this.map.rangesOf(ledgerId));
      if (JSON.stringify(found) !== JSON.stringify(sortedKeys(expected))) t.strictSame(found, expected, `${when}: ledger ${ledgerId}`);
      const entryId = below(this.random, 1000);
      const with_ = expected.filter(({ first, last }) => first <= entryId && entryId <= last).map(({ logId }) => logId);
      const logsWith = await this.run(this.map.logsWith(ledgerId, entryId));
      if (JSON.stringify(logsWith) !== JSON.stringify(with_.reverse())) t.strictSame(logsWith, with_, `${when}: logs with ${entryId} of ${ledgerId}`);
    }
  }

  mapFiles(): Promise<string[]> {
    return this.run(this.disk.list(directory)).then((names) => names.filter((name) => name.includes('.map')));
  }
}

function sortedKeys(ranges: LogRange[]): LogRange[] {
  return ranges.map(({ logId, first, last }) => ({ first, last, logId }));
}

const never = new AbortController().signal;

t.test('ledger map: random logs sealed and removed, spills, joins, restarts → always what the ledger tables say, in bounded memory', async (t) => {
  for (let seed = 1; seed <= 6; seed++) {
    const world = new World(seed, 6000);
    await world.open();
    for (let step = 0; step < 60; step++) {
      await world.addLog(10 + below(world.random, 120));
      if (below(world.random, 3) === 0) world.removeLog();
      if (below(world.random, 6) === 0) await world.run(world.map.tidy(() => world.sealed(), never));
      if (below(world.random, 10) === 0) await world.open();
      if (step % 12 === 11) await world.check(t, `seed ${seed}, step ${step}`);
      t.ok(world.map.bytes < 6000 * 4, `${world.map.bytes} bytes in memory`);
    }
    t.ok(world.map.mapsCount > 0, `${world.map.mapsCount} maps`);
    await world.run(world.map.tidy(() => world.sealed(), never));
    t.ok(world.map.mapsCount <= 9, `${world.map.mapsCount} maps after joining`);
    await world.check(t, `seed ${seed}, joined`);
    await world.open();
    await world.check(t, `seed ${seed}, opened again`);
    t.strictSame(world.damaged, []);
  }
});

t.test('ledger map: small enough → no file, no read', async (t) => {
  const world = new World(1, 1 << 20);
  await world.open();
  for (let i = 0; i < 10; i++) await world.addLog(50);
  t.strictSame(await world.mapFiles(), []);
  let reads = 0;
  world.disk.beforeOperation = () => reads++;
  await world.check(t, 'in memory');
  t.equal(reads, 0);
});

t.test('ledger map: opened again → the maps are used, not the ledger tables of the logs they tell of', async (t) => {
  const world = new World(2, 6000);
  await world.open();
  for (let i = 0; i < 40; i++) await world.addLog(60);
  await world.run(world.map.tidy(() => world.sealed(), never));
  const reads = new Map<string, number>();
  const { boot } = world.disk;
  world.disk.boot = (clock) => {
    const next = boot.call(world.disk, clock);
    next.beforeOperation = ({ kind, path }) => {
      if (kind === 'read') reads.set(path.slice(-3), (reads.get(path.slice(-3)) ?? 0) + 1);
    };
    return next;
  };
  await world.open();
  t.ok((reads.get('idx') ?? 0) <= 2 * 6, `${reads.get('idx')} reads of indexes`);
  await world.check(t, 'opened again');
});

t.test('ledger map: a look-up of a ledger costs one read per map at most, and none the second time', async (t) => {
  const world = new World(3, 6000);
  await world.open();
  for (let i = 0; i < 60; i++) await world.addLog(60);
  await world.run(world.map.tidy(() => world.sealed(), never));
  let reads = 0;
  world.disk.beforeOperation = ({ kind }) => {
    if (kind === 'read') reads++;
  };
  for (const ledgerId of [5, 100, 399]) {
    reads = 0;
    await world.run(world.map.rangesOf(ledgerId));
    t.ok(reads <= world.map.mapsCount * 2, `${reads} reads, ${world.map.mapsCount} maps: ledgers whose rows lie in two blocks cost two`);
    reads = 0;
    await world.run(world.map.rangesOf(ledgerId));
    t.equal(reads, 0);
  }
});

t.test('ledger map: damaged anywhere → a look-up fails rather than leaves something out; made again it is right', async (t) => {
  for (let position = 10; ; position += 1201) {
    const world = new World(4, 6000);
    await world.open();
    for (let i = 0; i < 16; i++) await world.addLog(60);
    const [name] = await world.mapFiles();
    const path = `${directory}/${name}`;
    if (position >= (world.disk.peek(path)?.length ?? 0)) break;
    world.disk.flipBit(path, position, position % 8);
    world.cache.forgetMap(path);
    let failures = 0;
    for (const ledgerId of world.ledgers) {
      try {
        const found = await world.run(world.map.rangesOf(ledgerId));
        if (JSON.stringify(found) !== JSON.stringify(sortedKeys(world.expected(ledgerId)))) t.fail(`ledger ${ledgerId}, byte ${position}`);
      } catch (error) {
        failures++;
        t.equal((error as { code?: string }).code, 'BOOKIE_LOG_DAMAGED');
      }
    }
    await world.run(world.map.tidy(() => world.sealed(), never));
    await world.check(t, `byte ${position}, ${failures} failures, made again`);
    await world.open();
    await world.check(t, `byte ${position}, opened again`);
  }
});

t.test('ledger map: power cut at every operation of a spill and of a join → what the ledger tables say', async (t) => {
  for (const what of ['spill', 'join'] as const) {
    const { step, offset } = crashPoints(t, what === 'spill' ? 1 : 3);
    for (let operations = offset; ; operations += step) {
      const world = new World(5, 6000);
      await world.open();
      for (let i = 0; i < (what === 'spill' ? 4 : 16); i++) await world.addLog(60, { spills: what === 'join' });
      world.disk.crashAfter(operations, { keep: operations % 2 === 0 ? 'none' : 'random' });
      const task = what === 'spill' ? world.map.spill(world.sealed()) : world.map.tidy(() => world.sealed(), never);
      let isOver = false;
      void task.then(() => {
        isOver = true;
      });
      await world.queue.run({ until: () => isOver || world.disk.isDead, untilMs: world.queue.nowMs + 10_000 });
      const wasOver = isOver && !world.disk.isDead;
      await world.open();
      await world.check(t, `${what}, ${operations} operations`);
      if (!wasOver) continue;
      t.ok(operations > 5, `${what}: ${operations} operations, every ${step}. a crash point`);
      break;
    }
  }
});

t.test('ledger map: disk full → stays in memory, and goes to a file when there is room', async (t) => {
  const world = new World(6, 6000);
  await world.open();
  world.disk.beforeOperation = ({ kind, path }) => {
    if (kind === 'write' && path.includes('.map')) world.disk.setCapacityBytes(1);
  };
  for (let i = 0; i < 8; i++) {
    await world.addLog(60);
    world.disk.setCapacityBytes(1 << 30);
  }
  t.strictSame(await world.mapFiles(), []);
  await world.check(t, 'full');
  world.disk.beforeOperation = undefined;
  await world.run(world.map.spill(world.sealed()));
  t.ok((await world.mapFiles()).length > 0);
  await world.check(t, 'with room again');
});

t.test('ledger map: golden bytes of a whole file → stay as they are and readable', async (t) => {
  const queue = new EventQueue({ seed: 1 });
  const disk = new SimDisk({ clock: new SimClock(queue) });
  await queue.complete(disk.makeDirectory(directory));
  const writer = await queue.complete(LedgerMapWriter.create(disk, directory, 5));
  writer.add(3, { logId: 1, first: 10, last: 19 });
  writer.add(2 ** 40, { logId: 2, first: 0, last: 2 ** 33 });
  await queue.complete(
    writer.finish(
      new Map([
        [2, 300],
        [1, 200],
      ]),
    ),
  );
  const bytes = disk.peek(`${directory}/0000000000000005.map`) as Buffer;
  t.equal(bytes.subarray(64, -64).toString('hex'), golden);
  const files = new LogFiles(disk, 4);
  const map = await queue.complete(
    LedgerMapFile.open({ files, cache: new LedgerCache(files, 1 << 16) }, `${directory}/0000000000000005.map`, bytes.length),
  );
  t.strictSame(
    [...map.logs],
    [
      [1, 200],
      [2, 300],
    ],
  );
  const found: LogRange[] = [];
  await queue.complete(map.collect(2 ** 40, found));
  t.strictSame(found, [{ first: 0, last: 2 ** 33, logId: 2 }]);
});
