import t from 'tap';
import { killBookie } from './kill-bookie.js';

/** `DAYBOOK_KILL_ROUNDS=20 TAP_TIMEOUT=0 node test/dist/chaos/kill-bookie.test.js` for a long run. */
const rounds = Number(process.env.DAYBOOK_KILL_ROUNDS ?? 4);

t.test(
  'bookie: killed again and again while ledgers are written and deleted, collected and compacted -> nothing acknowledged is lost or doubled, space comes back',
  { skip: process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1', timeout: 60_000 + rounds * 20_000 },
  async (t) => {
    const { problems, acknowledged, deletedLedgers, roundsWith } = await killBookie({ rounds, log: (line) => t.comment(line) });
    t.same(problems, []);
    t.ok(acknowledged > rounds * 500, `a real load was there: ${acknowledged} entries were acknowledged, ${deletedLedgers} ledgers deleted`);
    const most = Math.ceil(rounds / 2);
    t.ok(roundsWith.collected >= most, `logs were collected in ${roundsWith.collected} of ${rounds} rounds`);
    t.ok(roundsWith.minor >= most, `minor compaction rewrote logs in ${roundsWith.minor} rounds`);
    t.ok(roundsWith.major >= most, `major compaction did in ${roundsWith.major}`);
    t.comment(`killed in the middle of a compaction: ${roundsWith.killedWhileCompacting} of ${rounds} rounds`);
  },
);
