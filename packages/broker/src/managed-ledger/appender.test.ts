import type { LedgerId } from '@daybook/proto';
import { errorCode } from '@daybook/runtime';
import { SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import type { ManagedLedger } from './managed-ledger-api.js';
import { Answers, LogWorld, readAll, show, smallOptions, type TestBroker } from './testing/log-world.js';

const name = 'tenant/ns/persistent/topic';
const options = { ...smallOptions, entriesPerLedgerMax: 30 };

/** One broker's time with the log: what it appended, and what it was answered. */
interface Reign {
  broker: TestBroker;
  log: ManagedLedger;
  answers: Answers;
  texts: string[];
}

async function open(world: LogWorld, reigns: Reign[], broker = world.broker({ appendWaitMaxMs: 20_000 })): Promise<void> {
  for (;;) {
    try {
      const log = await world.settle(broker.logs.open(name, options), 600_000);
      await world.settle(log.openCursor('keep', log.beforeFirst));
      reigns.push({ broker, log, answers: new Answers(log), texts: [] });
      return;
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      calm(world);
      await world.runFor(1_000);
    }
  }
}

function disturb(world: LogWorld, random: SimRandom): void {
  const bookies = [...world.bookies.bookies.values()];
  const bookie = bookies[random.u32() % bookies.length] as (typeof bookies)[number];
  switch (random.u32() % 6) {
    case 0:
      if (bookie.isUp) world.bookies.kill(bookie.bookieId);
      break;
    case 1:
      bookie.refuseAppends = 'UNAVAILABLE';
      break;
    case 2:
      bookie.stall();
      break;
    default:
      bookie.refuseAppends = undefined;
      bookie.resume();
      if (!bookie.isUp) world.bookies.restart(bookie.bookieId);
  }
}

function calm(world: LogWorld): void {
  for (const bookie of world.bookies.bookies.values()) {
    bookie.refuseAppends = undefined;
    bookie.resume();
    if (!bookie.isUp) world.bookies.restart(bookie.bookieId);
  }
}

/** What each reign was promised, against what is stored. */
function check(reigns: readonly Reign[], stored: readonly { position: { ledgerId: number; entryId: number }; text: string }[], seed: number): void {
  const placeOf = new Map<string, number>();
  for (const [index, { text }] of stored.entries()) {
    t.notOk(placeOf.has(text), `seed ${seed}: ${text} is stored twice`);
    placeOf.set(text, index);
  }
  for (const { answers, texts } of reigns) {
    t.ok(answers.positions.length <= texts.length, `seed ${seed}: nothing is answered twice`);
    let before = -1;
    for (const [i, text] of texts.entries()) {
      const place = placeOf.get(text);
      const answered = answers.positions[i];
      if (answered !== undefined) {
        const found = stored[place ?? -1];
        t.equal(found && show(found.position as never), show(answered), `seed ${seed}: ${text} is where it was acknowledged`);
      }
      if (place === undefined) continue;
      t.ok(place > before, `seed ${seed}: ${text} is in order`);
      before = place;
    }
  }
}

t.test('appender: bookies fail, stall and die, brokers are killed or lose the log → acknowledged once, where it is, in order', async () => {
  let acknowledged = 0;
  let rolls = 0;
  for (let seed = 1; seed <= 30; seed++) {
    const world = new LogWorld({ seed, bookiesCount: 5, delayMs: seed % 4 });
    const random = new SimRandom(`appender ${seed}`);
    const reigns: Reign[] = [];
    await open(world, reigns);
    for (let round = 0; round < 60; round++) {
      const reign = reigns.at(-1) as Reign;
      const what = random.u32() % 24;
      if (what < 12) {
        // The one before may still believe that it owns the log.
        const who = what < 10 ? reign : (reigns.at(-2) ?? reign);
        for (let i = random.u32() % 15; i >= 0 && !who.log.isFull; i--) {
          const text = `${reigns.indexOf(who)}-${who.texts.length}`;
          if (who.answers.fencedWith === undefined && !who.answers.isDeaf) {
            who.log.append(Buffer.from(text));
            who.texts.push(text);
          }
        }
      } else if (what < 17) disturb(world, random);
      else if (what === 17) await open(world, reigns);
      else if (what === 18) {
        reign.broker.crash();
        reign.answers.isDeaf = true;
        await open(world, reigns);
      } else if (what === 19) reign.log.roll().catch(() => undefined);
      else if (what >= 22) {
        // Somebody recovers the ledger without taking the log: the end can lie beyond what its writer was told.
        const ledgerId = reign.log.internalStats().ledgers.at(-1)?.ledgerId as LedgerId;
        const { client } = world.bookies.connect();
        client.openWithRecovery(ledgerId, { password: new Uint8Array(0) }).catch(() => undefined);
      }
      await world.runFor(random.u32() % 300);
    }
    calm(world);
    // Everything that waits is answered, or has failed after its time.
    await world.runFor(60_000);
    await open(world, reigns);
    const last = reigns.at(-1) as Reign;
    const stored = await world.settle(readAll(last.log));
    check(reigns, stored, seed);
    acknowledged += reigns.reduce((sum, { answers }) => sum + answers.positions.filter((at) => at !== undefined).length, 0);
    rolls += last.log.internalStats().ledgers.length;
    for (const { answers, texts } of reigns.slice(0, -1)) {
      const isOver = answers.isDeaf || answers.fencedWith !== undefined;
      t.ok(isOver || answers.positions.length === texts.length, `seed ${seed}: nobody waits for ever`);
    }
    await world.end();
  }
  t.ok(acknowledged > 3_000 && rolls > 200, `enough happened: ${acknowledged} acknowledged, ${rolls} ledgers`);
});

t.test('appender: a payload larger than an entry may be → refused at once, the log goes on', async () => {
  const world = new LogWorld();
  const reigns: Reign[] = [];
  await open(world, reigns);
  const { log, answers } = reigns[0] as Reign;
  t.throws(() => log.append(Buffer.alloc(64 * 1024 * 1024)), { code: 'LEDGER_TOO_LARGE' });
  log.append(Buffer.from('x'));
  await world.runFor(100);
  t.equal(answers.positions.length, 1);
  await world.end();
});

t.test('appender: more than the bookies take at once → full at its bytes, drained once there is room, all stored', async () => {
  const world = new LogWorld({ delayMs: 5 });
  const broker = world.broker({ appendBytesMax: 1_000_000, totalAppendBytesMax: 1_500_000 });
  const log = await world.settle(broker.logs.open(name, smallOptions));
  const other = await world.settle(broker.logs.open(`${name}-2`, smallOptions));
  const answers = new Answers(log);
  const others = new Answers(other);
  const payload = Buffer.alloc(10_000, 1);
  let sent = 0;
  let otherSent = 0;
  const pump = () => {
    while (!log.isFull && sent < 1_000) {
      log.append(payload);
      sent++;
    }
    if (sent < 1_000) log.onDrain(pump);
  };
  const otherPump = () => {
    while (!other.isFull && otherSent < 500) {
      other.append(payload);
      otherSent++;
    }
    if (otherSent < 500) other.onDrain(otherPump);
  };
  pump();
  otherPump();
  t.ok(broker.logs.unansweredAppendBytes <= 1_520_000, 'both together are bounded');
  t.equal(sent, 100);
  await world.runFor(10_000);
  t.same([answers.positions.length, others.positions.length], [1_000, 500]);
  t.equal(broker.logs.unansweredAppendBytes, 0);
  await world.end();
});
