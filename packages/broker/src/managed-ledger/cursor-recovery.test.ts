import { encodeCursorPosition, type LedgerId, noBytes } from '@daybook/proto';
import { silentLogger } from '@daybook/runtime';
import t from 'tap';
import { AckSet } from './ack-set.js';
import { newCursorInfo } from './cursor-info.js';
import { recoverCursor } from './cursor-recovery.js';
import { encodeCursorState } from './cursor-state-format.js';
import { LedgerChain } from './ledger-chain.js';
import { createLedger } from './ledger-switch.js';
import { LogWorld, position, smallOptions } from './testing/log-world.js';

const chain = new LedgerChain([
  { ledgerId: 100 as LedgerId, entries: 5, bytes: 0, closedAtMs: 1 },
  { ledgerId: 200 as LedgerId, entries: 10_000, bytes: 0, closedAtMs: 0 },
]);

/** Every `step`th entry above the mark, as a state of several entries. */
function stateOf(mark: number, step: number): { acks: AckSet; entries: Buffer[] } {
  const acks = new AckSet(chain, position(200, mark));
  for (let entry = mark + 2; entry < 10_000; entry += step) acks.add(position(200, entry));
  return { acks, entries: encodeCursorState(acks, new Map([['p', 7n]]), 500) };
}

async function newLedgerWith(world: LogWorld, entries: readonly Buffer[]) {
  const { client: ledgers } = world.bookies.connect();
  const writer = await world.settle(createLedger({ ledgers }, smallOptions, { name: 'log', cursor: 's' }));
  for (const entry of entries) await world.settle(writer.append(entry));
  return writer;
}

async function recovered(entries: readonly Buffer[]) {
  const world = new LogWorld({ delayMs: 0 });
  const writer = await newLedgerWith(world, entries);
  const info = { ...newCursorInfo(position(200, 1), 0), cursorLedgerId: writer.ledgerId };
  const logger = silentLogger;
  return world.settle(recoverCursor({ ledgers: world.bookies.connect().client, logger }, { log: 'log', name: 's', info, chain }));
}

t.test('cursor recovery: a newer state of which not all parts were written → the one before it, whole', async () => {
  const old = stateOf(10, 3);
  const newer = stateOf(500, 2);
  t.ok(old.entries.length > 2 && newer.entries.length > 2);
  for (let count = 0; count < newer.entries.length; count++) {
    const { acks, properties } = await recovered([...old.entries, ...newer.entries.slice(0, count)]);
    t.same([acks.mark, acks.aboveCount], [old.acks.mark, old.acks.aboveCount], `${count} of ${newer.entries.length} parts`);
    t.same([...properties], [['p', 7n]]);
  }
  const { acks } = await recovered([...old.entries, ...newer.entries]);
  t.same([acks.mark, acks.aboveCount], [newer.acks.mark, newer.acks.aboveCount], 'all parts');
});

t.test('cursor recovery: no whole state, no entry, or bytes that are none → the position of the record', async () => {
  for (const entries of [[], stateOf(10, 3).entries.slice(0, 2), [Buffer.from('nonsense')]]) {
    t.same((await recovered(entries)).acks.mark, position(200, 1));
  }
});

t.test('cursor recovery: ledger gone because the owner before moved on meanwhile → the state in its new ledger', async () => {
  const world = new LogWorld({ delayMs: 0 });
  const { client: ledgers } = world.bookies.connect();
  const { acks, entries } = stateOf(10, 3);
  const [left, right] = [
    await world.settle(createLedger({ ledgers }, smallOptions, { name: 'log', cursor: 's' })),
    await newLedgerWith(world, entries),
  ];
  await world.settle(ledgers.delete(left.ledgerId));
  const record = (writer: { ledgerId: LedgerId }) => ({ ...newCursorInfo(position(200, 1), 0), cursorLedgerId: writer.ledgerId });
  const current = async () => record(right);
  const found = await world.settle(recoverCursor({ ledgers, logger: silentLogger }, { log: 'log', name: 's', info: record(left), chain, current }));
  t.same([found.acks.mark, found.acks.aboveCount], [acks.mark, acks.aboveCount]);
});

t.test('cursor recovery: ranges across ledgers and beyond the end → only entries that exist', async () => {
  const ranges = [
    { lower: position(100, 2), upper: position(200, 4) },
    { lower: position(200, 9_990), upper: position(200, 20_000) },
  ];
  const state = { markDelete: position(100, 1), individuallyDeleted: ranges, properties: [], batchDeletions: [], unknown: noBytes };
  const { acks } = await recovered([encodeCursorPosition(state)]);
  t.same(acks.mark, position(100, 1));
  t.same(acks.ranges(), [
    { lower: position(100, 2), upper: position(100, 4) },
    { lower: position(200, -1), upper: position(200, 4) },
    { lower: position(200, 9_990), upper: position(200, 9_999) },
  ]);
});
