import type { EntryId, LedgerId, LedgerMetadata } from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import type { SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { storesEntry } from './distribution.js';
import type { LedgerWriter } from './ledger-api.js';
import { password, readTexts, SimWorld } from './testing/sim-world.js';

/**
 * Random schedules of one writer, several recoverers and a nemesis over bookies in memory, on simulated time. The checks are made from outside (reference
 * 1.17) and share no code with what they check but the arithmetic of write sets.
 */
class Schedule {
  readonly world: SimWorld;
  readonly random: SimRandom;
  readonly sizes: { ensembleSize: number; writeQuorumSize: number; ackQuorumSize: number };
  readonly pushed: string[] = [];
  readonly problems: string[] = [];
  confirmed = -1;
  writer: LedgerWriter | undefined;
  #isOver = false;

  constructor(seed: number) {
    const sizes = [
      [3, 3, 2],
      [3, 3, 2],
      [3, 2, 2],
      [4, 3, 2],
      [2, 2, 1],
      [5, 3, 2],
    ][seed % 6] as [number, number, number];
    this.sizes = { ensembleSize: sizes[0], writeQuorumSize: sizes[1], ackQuorumSize: sizes[2] };
    this.world = new SimWorld({ seed, bookiesCount: sizes[0] + (seed % 3) });
    this.random = this.world.queue.random.fork('schedule');
    for (const bookie of this.world.cluster.bookies.values()) bookie.delayMs = Math.floor(this.random.between(0, 20));
  }

  get ledgerId(): LedgerId {
    return 1 as LedgerId;
  }

  get stored(): LedgerMetadata {
    return this.world.cluster.store.ledgers.get(this.ledgerId)?.metadata as LedgerMetadata;
  }

  async run(): Promise<void> {
    const { client, records } = this.world.cluster.connect();
    this.writer = await this.world.run(client.create({ ...this.sizes, password }));
    this.writer.listen({
      confirmed: (upTo) => this.acknowledged(upTo),
      failed: (_, upTo) => {
        if (upTo !== this.confirmed) this.problems.push(`failed at ${upTo} after confirming ${this.confirmed}`);
      },
    });
    records.delayMs = Math.floor(this.random.between(0, 10));
    const nemesis = this.makeTrouble(records);
    const pushing = this.push();
    const recovering = [this.recoverSometime(), this.recoverSometime()];
    await this.world.run(Promise.all([pushing, nemesis, ...recovering]), 600_000);
    records.isUnavailable = false;
    records.loseWriteReplies = 0;
    for (const name of this.world.cluster.bookies.keys()) {
      this.world.cluster.bookie(name).resume();
      this.world.cluster.restart(name);
    }
    await this.world.runFor(40_000);
    await this.finish();
  }

  /** At the moment of each acknowledgement (I1, I3). */
  acknowledged(upTo: number): void {
    if (upTo <= this.confirmed) this.problems.push(`${upTo} confirmed after ${this.confirmed} (I1)`);
    for (let id = this.confirmed + 1; id <= upTo; id++) {
      const copies = this.copies(id);
      if (copies < this.sizes.ackQuorumSize) this.problems.push(`entry ${id} acknowledged with ${copies} copies in the stored ensemble (I3)`);
    }
    this.confirmed = upTo;
  }

  copies(id: number): number {
    const segment = this.stored.segments.findLast((one) => one.firstEntryId <= id);
    const holds = (name: string, index: number) => storesEntry(this.sizes, index, id) && this.world.cluster.bookie(name).holds(this.ledgerId, id);
    return (segment?.ensemble ?? []).filter(holds).length;
  }

  async push(): Promise<void> {
    const writer = this.writer as LedgerWriter;
    for (let i = 0; i < 60; i++) {
      await this.world.clock.sleep(this.random.between(0, 30));
      try {
        for (let n = Math.floor(this.random.between(1, 6)); n > 0 && !writer.isFull; n--) {
          const text = `message ${this.pushed.length}`;
          writer.push(Buffer.from(text));
          this.pushed.push(text);
        }
      } catch (error) {
        if (error instanceof DaybookError) return;
        throw error;
      }
    }
    if (this.random.chance(0.3)) await writer.close().catch(() => undefined);
  }

  async makeTrouble(records: { isUnavailable: boolean; loseWriteReplies: number }): Promise<void> {
    const names = [...this.world.cluster.bookies.keys()];
    const one = () => names[this.random.u32() % names.length] as string;
    const { cluster, clock } = this.world;
    for (let i = 0; i < 12; i++) {
      await clock.sleep(this.random.between(10, 250));
      const name = one();
      const bookie = cluster.bookie(name);
      const trouble = this.random.u32() % 7;
      if (trouble === 0) cluster.kill(name);
      else if (trouble === 1) bookie.crash();
      else if (trouble === 2) bookie.stall();
      else if (trouble === 3) records.loseWriteReplies = 1;
      else if (trouble === 4) bookie.delayMs = Math.floor(this.random.between(0, 300));
      else if (trouble === 5) records.isUnavailable = !records.isUnavailable;
      else bookie.refuseAppends = this.random.chance(0.5) ? 'IO_ERROR' : 'TOO_MANY_REQUESTS';
      await clock.sleep(this.random.between(0, 400));
      const healed = cluster.bookie(this.random.chance(0.7) ? name : one());
      healed.resume();
      healed.refuseAppends = undefined;
      if (!healed.isUp) cluster.restart(healed.bookieId);
    }
    for (const name of names) cluster.bookie(name).refuseAppends = undefined;
    this.#isOver = true;
  }

  async recoverSometime(): Promise<void> {
    if (this.random.chance(0.4)) return;
    const { client } = this.world.cluster.connect();
    await this.world.clock.sleep(this.random.between(0, 3_000));
    while (!this.#isOver) {
      try {
        await client.openWithRecovery(this.ledgerId, { password });
        return;
      } catch (error) {
        if (!(error instanceof DaybookError) || error.retry !== 'later') throw error;
        await this.world.clock.sleep(this.random.between(0, 500));
      }
    }
  }

  /** Everything is up again: a recovery must succeed, and what it says is checked. */
  async finish(): Promise<void> {
    const reader = await this.world.run(this.world.cluster.connect().client.openWithRecovery(this.ledgerId, { password }), 600_000);
    const { metadata } = reader;
    const check = (isFine: boolean, text: string) => isFine || this.problems.push(text);
    check(metadata.lastEntryId >= this.confirmed, `closed at ${metadata.lastEntryId}, ${this.confirmed} was acknowledged (I6)`);
    for (let id = 0; id <= metadata.lastEntryId; id++)
      check(this.copies(id) >= this.sizes.ackQuorumSize, `entry ${id} of the closed ledger has too few copies (I4)`);
    const texts = await this.world.run(readTexts(reader));
    check(
      texts.every((text, id) => text === this.pushed[id]) && texts.length === metadata.lastEntryId + 1,
      'what is read is not what was pushed (I10)',
    );
    check(metadata.length === texts.reduce((sum, text) => sum + text.length, 0), `length ${metadata.length} (I15)`);
    const closed = this.world.cluster.store.history
      .filter((one) => one.metadata.state === 'CLOSED')
      .map((one) => [one.metadata.lastEntryId, one.metadata.length].join());
    check(new Set(closed).size === 1, `closed as ${closed} (I7, I8)`);
    for (const { metadata: written } of this.world.cluster.store.history) {
      const keys = written.segments.map((segment) => segment.firstEntryId);
      check(
        keys.every((key, i) => i === 0 || key > (keys[i - 1] as EntryId)),
        `segments ${keys} (I9)`,
      );
      check(
        written.segments.every((segment) => new Set(segment.ensemble).size === segment.ensemble.length),
        'one bookie twice (I19)',
      );
    }
    const { phase } = this.writer === undefined ? { phase: undefined } : (this.writer as unknown as { state: { phase: { at: string } } }).state;
    if (phase?.at === 'open') check(this.writer?.lastAddConfirmed === this.writer?.lastAddPushed, 'appends neither confirmed nor failed (I18)');
  }
}

const seedsCount = Number(process.env.DAYBOOK_LEDGER_SEEDS ?? 200);
const firstSeed = Number(process.env.DAYBOOK_LEDGER_FIRST_SEED ?? 1);

t.test(`ledger protocol: ${seedsCount} random schedules of a writer, recoverers and failing bookies → the invariants hold`, async (t) => {
  let acknowledgedCount = 0;
  let changesCount = 0;
  for (let seed = firstSeed; seed < firstSeed + seedsCount; seed++) {
    const schedule = new Schedule(seed);
    try {
      await schedule.run();
    } catch (error) {
      schedule.problems.push(String(error));
    }
    acknowledgedCount += schedule.confirmed + 1;
    changesCount += schedule.stored.segments.length - 1;
    if (schedule.problems.length > 0) {
      t.same(schedule.problems.slice(0, 5), [], `seed ${seed}: DAYBOOK_LEDGER_FIRST_SEED=${seed} DAYBOOK_LEDGER_SEEDS=1`);
      return;
    }
  }
  t.ok(acknowledgedCount > seedsCount * 20, `${acknowledgedCount} entries acknowledged`);
  t.ok(changesCount > seedsCount / 10, `${changesCount} ensemble changes`);
});
