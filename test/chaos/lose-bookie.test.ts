import t from 'tap';
import { loseBookie } from './lose-bookie.js';

t.test(
  'repair: one of four bookies is killed for good -> all copies are back in bounded time, open ledgers too',
  { skip: process.env.DAYBOOK_WITHOUT_ZOOKEEPER === '1', timeout: 180_000 },
  async (t) => {
    const { problems, closedWholeMs, openWholeMs, entriesCopied } = await loseBookie({
      closedLedgers: 10,
      entriesPerLedger: 300,
      log: (line) => t.comment(line),
    });
    t.same(problems, []);
    // Apache BookKeeper took 15 s for a closed ledger of 2,000 entries, with a session time-out of 10 s.
    t.ok(closedWholeMs < 15_000, `closed ledgers whole in ${closedWholeMs} ms`);
    t.ok(openWholeMs < 30_000, `the open one in ${openWholeMs} ms`);
    t.ok(entriesCopied >= 300, `${entriesCopied} entries were copied`);
  },
);
