import t from 'tap';
import { ledgerChaos } from './ledger-chaos.js';

/** Longer, or with a seed of your own: `node test/dist/chaos/ledger-chaos/main.js --seconds 600 --bookies 5 --seed N`. */
const options = { seconds: 20, bookies: 5, seed: Math.floor(Math.random() * 1_000_000) };

t.test(
  'ledgers: bookies, writers, autorecovery and ZooKeeper killed, stopped, cut off, a disk wiped -> nothing acknowledged is lost, all copies come back',
  { skip: process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1', timeout: 400_000 },
  async (t) => {
    const { problems, acknowledged, copiesCompared, wholeMs, allWholeMs, faults } = await ledgerChaos({ ...options, log: (line) => t.comment(line) });
    t.same(problems, []);
    t.ok(acknowledged > 1_000, `a real load was there: ${acknowledged} entries were acknowledged`);
    t.ok(copiesCompared >= 3 * acknowledged, `${copiesCompared} copies were compared`);
    t.ok(faults['disk wiped'] === 1, 'a disk was wiped');
    t.ok(wholeMs < 120_000 && allWholeMs < 60_000, `all copies were back in ${wholeMs} and ${allWholeMs} ms`);
  },
);
