import { DaybookError } from '@daybook/runtime';
import type { SimRandom } from '@daybook/runtime/sim';
import t from 'tap';
import { defaultLedgerClientOptions, type LedgerClientOptions } from './ledger-client-options.js';
import { ledgerOptions, SimWorld } from './testing/sim-world.js';

/**
 * The quorum time-out and what the timer that looks at it may be late; before that an append may wait for room, as long as one bookie after the other says
 * nothing and is given up.
 */
function answerMsMax(ensembleSize: number): number {
  const { addEntryQuorumTimeoutMs, addEntryTimeoutMs } = defaultLedgerClientOptions;
  return addEntryQuorumTimeoutMs + ensembleSize * addEntryTimeoutMs + 2_000;
}

const sizes = [
  [3, 3, 2],
  [3, 2, 2],
  [4, 3, 2],
  [2, 2, 1],
  [3, 3, 3],
] as const;

interface Answer {
  readonly waitedMs: number;
  readonly outcome: string;
  readonly retry: string | undefined;
}

function randomOptions(random: SimRandom): Partial<LedgerClientOptions> {
  return {
    windowBytes: random.chance(0.5) ? 2_000 : 1 << 20,
    waitingAppendBytesMax: random.chance(0.3) ? 3_000 : 1 << 20,
    delayEnsembleChange: random.chance(0.3),
    disableEnsembleChange: random.chance(0.2),
    maxAllowedEnsembleChanges: random.chance(0.2) ? 1 : Number.POSITIVE_INFINITY,
    explicitLacInterval: random.chance(0.3) ? 50 : 0,
  };
}

/** Any mixture of what can go wrong, for good in half of all cases. */
async function trouble(world: SimWorld, random: SimRandom, records: { isUnavailable: boolean; loseWriteReplies: number }): Promise<void> {
  const names = [...world.cluster.bookies.keys()];
  for (let i = 0; i < 8; i++) {
    await world.clock.sleep(random.between(5, 400));
    const name = names[random.u32() % names.length] as string;
    const bookie = world.cluster.bookie(name);
    const kind = random.u32() % 8;
    if (kind === 0) world.cluster.kill(name);
    else if (kind === 1) bookie.crash();
    else if (kind === 2) bookie.stall();
    else if (kind === 3) bookie.loseReplies = true;
    else if (kind === 4) records.isUnavailable = true;
    else if (kind === 5) bookie.refuseAppends = random.chance(0.5) ? 'IO_ERROR' : 'TOO_MANY_REQUESTS';
    else if (kind === 6) bookie.refuseAppends = random.chance(0.5) ? 'FENCED' : 'READ_ONLY';
    else records.loseWriteReplies = 2;
    if (random.chance(0.5)) continue;
    await world.clock.sleep(random.between(0, 600));
    bookie.resume();
    bookie.loseReplies = false;
    bookie.refuseAppends = undefined;
    records.isUnavailable = false;
    if (!bookie.isUp) world.cluster.restart(name);
  }
}

async function run(seed: number): Promise<{ answers: Answer[]; askedCount: number; late: Answer[] }> {
  const [ensembleSize, writeQuorumSize, ackQuorumSize] = sizes[seed % sizes.length] as (typeof sizes)[number];
  const world = new SimWorld({ seed, bookiesCount: ensembleSize + (seed % 3) });
  const random = world.queue.random.fork('answers');
  for (const bookie of world.cluster.bookies.values()) bookie.delayMs = Math.floor(random.between(0, 15));
  const { client, records } = world.cluster.connect({ options: randomOptions(random) });
  const writeFlags = random.chance(0.2) ? (['DEFERRED_SYNC'] as const) : [];
  const writer = await world.run(client.create({ ...ledgerOptions(ensembleSize, writeQuorumSize, ackQuorumSize), writeFlags }));
  records.delayMs = Math.floor(random.between(0, 10));
  const answers: Answer[] = [];
  let askedCount = 0;
  const append = () => {
    askedCount++;
    const startMs = world.clock.monoMs();
    const answered = (outcome: string, retry?: string) => void answers.push({ waitedMs: world.clock.monoMs() - startMs, outcome, retry });
    writer.append(Buffer.alloc(Math.floor(random.between(1, 900)))).then(
      () => answered('OK'),
      (error) => answered(error instanceof DaybookError ? error.code : String(error), error.retry),
    );
  };
  const appending = async () => {
    for (let i = 0; i < 60; i++) {
      await world.clock.sleep(random.between(0, 60));
      for (let n = 1 + (random.u32() % 4); n > 0; n--) append();
    }
  };
  await world.run(Promise.all([appending(), trouble(world, random, records)]), 600_000);
  await world.runFor(answerMsMax(ensembleSize) + 10_000);
  return { answers, askedCount, late: answers.filter(({ waitedMs }) => waitedMs > answerMsMax(ensembleSize)) };
}

const seedsCount = Number(process.env.DAYBOOK_LEDGER_SEEDS ?? 250);
const firstSeed = Number(process.env.DAYBOOK_LEDGER_FIRST_SEED ?? 1);

t.test(
  `append: ${seedsCount} random schedules of troubles that may never end → every append is answered in time, with a code and whether to retry`,
  async (t) => {
    const outcomes = new Map<string, number>();
    for (let seed = firstSeed; seed < firstSeed + seedsCount; seed++) {
      const { answers, askedCount, late } = await run(seed);
      const uncoded = answers.filter(
        ({ outcome, retry }) => outcome !== 'OK' && !(outcome.startsWith('LEDGER_') && (retry === 'later' || retry === 'never')),
      );
      for (const { outcome } of answers) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      if (answers.length === askedCount && late.length === 0 && uncoded.length === 0) continue;
      const replay = `DAYBOOK_LEDGER_FIRST_SEED=${seed} DAYBOOK_LEDGER_SEEDS=1`;
      t.same(
        { unanswered: askedCount - answers.length, late: late.slice(0, 3), uncoded: uncoded.slice(0, 3) },
        { unanswered: 0, late: [], uncoded: [] },
        replay,
      );
      return;
    }
    t.comment([...outcomes].map(([outcome, count]) => `${outcome}: ${count}`).join(', '));
    for (const outcome of ['OK', 'LEDGER_FENCED', 'LEDGER_NOT_ENOUGH_BOOKIES', 'LEDGER_APPEND_FAILED', 'LEDGER_OVERLOADED'])
      t.ok(outcomes.has(outcome), outcome);
  },
);
