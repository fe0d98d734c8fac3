import t from 'tap';
import { diskErrors } from './disk-errors.js';
import { createLogger, type LoggerOptions, silentLogger } from './log.js';
import { SimClock } from './sim/clock.js';
import { EventQueue } from './sim/event-queue.js';

function logged(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const clock = new SimClock(new EventQueue({ seed: 1 }), { wallStartMs: 1_900_000_000_123 });
  return { lines, logger: createLogger({ clock, write: (line) => lines.push(line), ...options }) };
}

t.test('Logger: text → one plain line with the time of the clock, component, fields', async (t) => {
  const { lines, logger } = logged({ fields: { node: 'b1' } });
  logger.child({ component: 'journal', journalId: 7 }).info({ path: '/a b', bytes: 12n, list: [1], gone: undefined }, 'rolled\nover');
  t.same(lines, ['2030-03-17T17:46:40.123Z INFO  journal: rolled over node=b1 journalId=7 path="/a b" bytes=12 list=[1]\n']);
});

t.test('Logger: json → the same as an object per line', async (t) => {
  const { lines, logger } = logged({ format: 'json' });
  logger.child({ component: 'journal' }).warn({ ledgerId: 5 }, 'slow');
  t.same(JSON.parse(lines[0] as string), { level: 'warn', time: '2030-03-17T17:46:40.123Z', component: 'journal', ledgerId: 5, text: 'slow' });
  t.equal((lines[0] as string).endsWith('\n'), true);
});

t.test('Logger: level → less important lines are not written', async (t) => {
  const { lines, logger } = logged({ level: 'warn' });
  logger.debug({}, 'd');
  logger.info({}, 'i');
  logger.warn({}, 'w');
  logger.error({}, 'e');
  t.equal(lines.length, 2);
  t.equal(logger.isDebug, false);
  t.equal(logged({ level: 'debug' }).logger.isDebug, true);
});

t.test('Logger: expected error → text, code and causes in one line; unexpected → its stack below', async (t) => {
  const { lines, logger } = logged();
  logger.error({ error: diskErrors.FULL('/data', { cause: new Error('ENOSPC: no space left') }) }, 'cannot write');
  t.equal(
    lines[0],
    '2030-03-17T17:46:40.123Z ERROR cannot write: no space left for /data: free some on that disk [DISK_FULL] <- ENOSPC: no space left\n',
  );
  logger.error({ error: new TypeError('oops') }, 'bug');
  t.match(lines[1], /^\S+ ERROR bug: oops\n {4}at .*log\.test/);
  logger.error({ error: 'plain text' }, 'odd');
  t.match(lines[2], /ERROR odd: plain text\n$/);
});

t.test('silentLogger → takes everything, gives nothing', async (t) => {
  silentLogger.child({ a: 1 }).error({}, 'x');
  t.equal(silentLogger.isDebug, false);
});
