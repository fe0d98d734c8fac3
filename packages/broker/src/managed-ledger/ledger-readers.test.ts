import type { LedgerClient, LedgerReader } from '@daybook/ledger';
import type { LedgerId } from '@daybook/proto';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { LedgerReaders } from './ledger-readers.js';

/** A client whose readers only know their number and whether they were closed. */
function fixture(openMax = 2) {
  const queue = new EventQueue({ seed: 1 });
  const opened: { ledgerId: number; isClosed: boolean }[] = [];
  const client = {
    openWithoutRecovery: async (ledgerId: LedgerId) => {
      const reader = { ledgerId: ledgerId as number, isClosed: false };
      opened.push(reader);
      const close = async () => {
        reader.isClosed = true;
      };
      return { ...reader, number: opened.length, close } as unknown as LedgerReader;
    },
  } as unknown as LedgerClient;
  const background = (task: Promise<unknown>) => void task;
  return { queue, opened, readers: new LedgerReaders({ ledgers: client, clock: new SimClock(queue), openMax, idleMaxMs: 1_000, background }) };
}

const id = (value: number) => value as LedgerId;
const numberOf = async (reader: LedgerReader) => (reader as unknown as { number: number }).number;

t.test('ledger readers: used again → the same one; more than the bound → the least recently used is closed', async () => {
  const { readers, opened } = fixture();
  t.equal(await readers.use(id(1), numberOf), 1);
  t.equal(await readers.use(id(2), numberOf), 2);
  t.equal(await readers.use(id(1), numberOf), 1);
  t.equal(await readers.use(id(3), numberOf), 3);
  t.equal(readers.count, 2);
  t.same(
    opened.map(({ isClosed }) => isClosed),
    [false, true, false],
  );
});

t.test('ledger readers: one that was open fails → the task runs once more with a new one, which knows where entries lie now', async () => {
  const { readers, opened } = fixture();
  await readers.use(id(1), numberOf);
  let calls = 0;
  const result = await readers.use(id(1), async (reader) => {
    calls++;
    if ((await numberOf(reader)) === 1) throw new Error('moved');
    return 'read';
  });
  t.same([result, calls], ['read', 2]);
  t.same(
    opened.map(({ isClosed }) => isClosed),
    [true, false],
  );
  await t.rejects(
    readers.use(id(5), () => Promise.reject(new Error('no use'))),
    { message: 'no use' },
    'a new one that fails is not tried again',
  );
  t.equal(opened.length, 3);
});

t.test('ledger readers: dropped while in use → closed after its last user', async () => {
  const { readers, opened } = fixture();
  let release: () => void = () => undefined;
  const using = readers.use(
    id(1),
    () =>
      new Promise<void>((resolve) => {
        release = resolve;
      }),
  );
  await Promise.resolve();
  await Promise.resolve();
  readers.drop(id(1));
  t.equal(opened[0]?.isClosed, false);
  release();
  await using;
  await Promise.resolve();
  t.equal(opened[0]?.isClosed, true);
  t.equal(readers.count, 0);
});

t.test('ledger readers: not used for a while → closed', async () => {
  const { readers, opened, queue } = fixture();
  await readers.use(id(1), numberOf);
  await queue.runFor(900);
  readers.sweep();
  t.equal(opened[0]?.isClosed, false);
  await queue.runFor(200);
  readers.sweep();
  await Promise.resolve();
  t.equal(opened[0]?.isClosed, true);
});
