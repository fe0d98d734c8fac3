import { below } from '@daybook/runtime';
import type { SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import type { LogReader, LogRecord, LogWriter } from './log-api.js';
import { compareLogPositions } from './log-position.js';
import { type LogNode, LogWorld } from './testing/log-world.js';

const lock = '/daybook/logs/a/<default>/lock';

/** One opening of the log for writing: what it began to write, in order, and how much of it was acknowledged. */
interface Life {
  readonly node: LogNode;
  readonly writer: LogWriter;
  readonly begun: string[];
  acknowledged: number;
}

/**
 * Writers that write, roll, commit, die, lose their lock without noticing and write on; bookies that come and go; metadata answers that get lost; readers that
 * follow from the first moment and from the middle. Checked from outside, by what was written and what was read.
 */
class LogModel {
  readonly world: LogWorld;
  readonly random: SimRandom;
  readonly lives: Life[] = [];
  readonly tails: { reader: LogReader; records: LogRecord[]; done: Promise<void> }[] = [];
  readonly #stop = new AbortController();
  #down: string | undefined;

  constructor(seed: number) {
    this.world = new LogWorld({ seed, bookiesCount: 4, delayMs: 2 });
    this.random = this.world.queue.random.fork('model');
  }

  async run(steps: number): Promise<void> {
    await this.world.run(this.world.node().logs.create('a'));
    await this.#follow();
    await this.#takeOver();
    for (let step = 0; step < steps; step++) await this.#step();
    await this.#heal();
    await this.#takeOver();
    await this.#write(this.lives.at(-1) as Life, 1);
    await this.world.runFor(2_000);
    for (const life of this.lives) await this.#close(life);
    await this.world.runFor(10_000);
    this.#stop.abort();
    for (const { done } of this.tails) await this.world.run(done);
  }

  async readAll(): Promise<LogRecord[]> {
    const log = await this.world.run(this.world.node().logs.open('a'));
    const reader = await this.world.run(log.openReader());
    const out: LogRecord[] = [];
    for (let records = await this.world.run(reader.read()); records.length > 0; records = await this.world.run(reader.read())) out.push(...records);
    return out;
  }

  async #step(): Promise<void> {
    const life = this.lives[this.random.chance(0.8) ? this.lives.length - 1 : below(this.random, this.lives.length)] as Life;
    const draw = this.random.fraction();
    if (draw < 0.6) await this.#write(life, 1 + below(this.random, 5));
    else if (draw < 0.7) void life.writer.roll().catch(() => undefined);
    else if (draw < 0.76) void life.writer.commit().catch(() => undefined);
    else if (draw < 0.8) await this.#takeOver();
    else if (draw < 0.83) this.#loseLock();
    else if (draw < 0.86) life.node.crash();
    else if (draw < 0.9) this.#bookies();
    else if (draw < 0.93) life.node.session.setFaults({ lostReplies: this.random.chance(0.5) ? 100 : 0 });
    else if (draw < 0.96) await this.#follow();
    else await this.world.runFor(500);
    await this.world.runFor(below(this.random, 20));
  }

  /** Begins to write; does not wait. */
  async #write(life: Life, count: number): Promise<void> {
    const records = Array.from({ length: count }, (_, i) => `${this.lives.indexOf(life)}:${life.begun.length + i}`);
    const txId = Math.max(0, life.writer.lastTxId) + below(this.random, 2);
    const write = life.writer.writeBulk(records.map((text) => ({ txId, payload: Buffer.from(text.padEnd(10 + below(this.random, 60), '.')) })));
    life.begun.push(...records);
    const upTo = life.begun.length;
    write.then(
      () => {
        life.acknowledged = Math.max(life.acknowledged, upTo);
      },
      () => undefined,
    );
  }

  /** Another process becomes the writer, if the lock lets it. */
  async #takeOver(): Promise<void> {
    const current = this.lives.at(-1);
    if (current !== undefined && this.random.chance(0.3)) await this.#close(current);
    else if (current !== undefined && this.random.chance(0.5)) current.node.crash();
    else this.#loseLock();
    const node = this.world.node({ outputBufferBytes: 200, segmentBytesMax: 2_000, segmentMsMax: 3_000, commitDelayMs: 30, lockWaitMs: 10_000 });
    const log = await this.world.run(node.logs.open('a'));
    for (let attempt = 0; attempt < 20; attempt++) {
      const writer = await this.world.run(log.openWriter({ owner: node.name }).catch(() => undefined));
      if (writer !== undefined) {
        this.lives.push({ node, writer, begun: [], acknowledged: 0 });
        return;
      }
      await this.#heal();
      this.#loseLock();
      await this.world.runFor(5_000);
    }
    throw new Error('nobody can take over');
  }

  async #close({ node, writer }: Life): Promise<void> {
    if (!node.store.isCrashed) await this.world.run(writer.close());
  }

  /** The lock goes, and nobody tells its owner. */
  #loseLock(): void {
    for (const member of this.world.tree.tree.children(lock)) this.world.tree.tree.delete(`${lock}/${member}`, 'any', []);
  }

  #bookies(): void {
    if (this.#down === undefined) {
      this.#down = `b${1 + below(this.random, 4)}`;
      this.world.bookies.kill(this.#down);
    } else {
      this.world.bookies.restart(this.#down);
      this.#down = undefined;
    }
  }

  async #heal(): Promise<void> {
    if (this.#down !== undefined) this.#bookies();
    for (const { node } of this.lives) node.session.setFaults({ lostReplies: 0 });
  }

  /** One more reader, from the beginning, that reads on and on. */
  async #follow(): Promise<void> {
    if (this.tails.length >= 3) return;
    const node = this.world.node();
    const log = await this.world.run(node.logs.open('a'));
    const reader = await this.world.run(log.openReader());
    const records: LogRecord[] = [];
    const follow = async () => {
      while (!this.#stop.signal.aborted) {
        // What cannot be read now is read later, from the same place.
        const found = await reader.read({ recordsMax: 3, waitMs: 1_000, stop: this.#stop.signal }).catch(() => []);
        records.push(...found);
        if (found.length === 0) await node.clock.sleep(10);
      }
    };
    this.tails.push({ reader, records, done: follow() });
  }
}

const textOf = (record: LogRecord) => record.payload.toString().replace(/\.+$/, '');

const seeds = Number(process.env.LOG_MODEL_SEEDS ?? 25);
const firstSeed = Number(process.env.LOG_MODEL_FROM ?? 1);

t.test(
  `log: random lives of writers, bookies and readers, ${seeds} seeds → nothing acknowledged is missing, none twice, readers see the log`,
  async (t) => {
    for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
      const model = new LogModel(seed);
      await model.run(80);
      const records = await model.readAll();
      const texts = records.map(textOf);
      const problems: string[] = [];
      // Who comes later took over at some moment: what is there of the writers before ends there.
      let at = 0;
      for (const [index, { begun, acknowledged }] of model.lives.entries()) {
        let count = 0;
        while (at + count < texts.length && texts[at + count] === begun[count]) count++;
        if (count < acknowledged) problems.push(`writer ${index}: ${acknowledged} records were acknowledged, ${count} of ${begun.length} are there`);
        at += count;
      }
      if (at !== texts.length) problems.push(`after ${at} of ${texts.length} records comes ${texts[at]}`);
      for (const [i, record] of records.entries()) {
        const before = records[i - 1];
        if (record.sequenceId !== i) problems.push(`record ${i} has number ${record.sequenceId}`);
        if (before !== undefined && (compareLogPositions(before.position, record.position) >= 0 || before.txId > record.txId))
          problems.push(`record ${i} goes back`);
      }
      for (const { records: seen } of model.tails) {
        if (seen.map(textOf).join() !== texts.join()) problems.push(`a reader saw ${seen.length} records, or others`);
      }
      t.same(problems.slice(0, 5), [], `seed ${seed}: ${texts.length} records, ${model.lives.length} writers`);
    }
  },
);
