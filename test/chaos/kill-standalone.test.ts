import t from 'tap';
import { killStandalone } from './kill-standalone.js';

t.setTimeout(60_000 + Number(process.env.DAYBOOK_KILL_ROUNDS ?? 6) * 15_000);
const rounds = Number(process.env.DAYBOOK_KILL_ROUNDS ?? 6);

t.test(
  `standalone: killed ${rounds} times under load -> nothing acknowledged is lost, ready at once`,
  { timeout: 60_000 + rounds * 15_000 },
  async (t) => {
    const { problems, acknowledged, readyMs } = await killStandalone({ rounds, log: (line) => t.comment(line) });
    t.same(problems, []);
    t.ok(acknowledged > rounds * 100, `a real load was there: ${acknowledged} messages were acknowledged`);
    const median = readyMs.sort((a, b) => a - b)[Math.floor(readyMs.length / 2)] ?? Number.POSITIVE_INFINITY;
    t.ok(median < 2_000, `ready again in ${Math.round(median)} ms (median)`);
  },
);
