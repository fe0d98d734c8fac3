import type { BookieId, EntryId, LedgerId, LedgerMetadata } from '@daybook/proto';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import t from 'tap';
import { MemoryRecordStore, MemoryRecords } from '../testing/memory-records.js';
import { storeMemberSwap } from './swap-member.js';

const ledgerId = 7 as LedgerId;
const b = (...names: string[]) => names as BookieId[];

async function stored(change: Partial<LedgerMetadata>): Promise<MemoryRecords> {
  const records = new MemoryRecords(new MemoryRecordStore(), new SimClock(new EventQueue({ seed: 1 })));
  await records.create(ledgerId, {
    formatVersion: 3,
    ensembleSize: 2,
    writeQuorumSize: 2,
    ackQuorumSize: 1,
    state: 'CLOSED',
    length: 100,
    lastEntryId: 9 as EntryId,
    segments: [
      { firstEntryId: 0 as EntryId, ensemble: b('b1', 'b2') },
      { firstEntryId: 5 as EntryId, ensemble: b('b1', 'b3') },
    ],
    digestType: 'CRC32C',
    password: Buffer.from('x'),
    createdAtMs: 0,
    customMetadata: new Map(),
    creationToken: 0n,
    ...change,
  });
  return records;
}

const swap = (firstEntryId: number, index: number, from: string, to: string) => ({
  ledgerId,
  firstEntryId: firstEntryId as EntryId,
  index,
  from: from as BookieId,
  to: to as BookieId,
});

async function segments(records: MemoryRecords): Promise<string> {
  return ((await records.read(ledgerId))?.metadata.segments ?? []).map(({ firstEntryId, ensemble }) => `${firstEntryId}:${ensemble}`).join(' ');
}

t.test('swap of a member: it is still there → replaced in that segment alone', async (t) => {
  const records = await stored({});
  t.equal(await storeMemberSwap(records, swap(0, 0, 'b1', 'b4')), 'stored');
  t.equal(await segments(records), '0:b4,b2 5:b1,b3');
  t.equal(await storeMemberSwap(records, swap(5, 1, 'b3', 'b4')), 'stored', 'the last segment of a closed ledger');
  t.equal(await segments(records), '0:b4,b2 5:b1,b4');
});

t.test('swap of a member: another is there, no such segment, or the new one is a member already → nothing is written', async (t) => {
  const records = await stored({});
  for (const wrong of [swap(0, 0, 'b9', 'b4'), swap(3, 0, 'b1', 'b4'), swap(0, 0, 'b1', 'b2')])
    t.equal(await storeMemberSwap(records, wrong), 'changed');
  t.equal((await records.read(ledgerId))?.version, 0);
});

t.test('swap of a member: the last segment of a ledger that is open or in recovery → never (BOOKKEEPER-112)', async (t) => {
  for (const state of ['OPEN', 'IN_RECOVERY'] as const) {
    const records = await stored({ state, lastEntryId: -1 as EntryId, length: 0 });
    t.equal(await storeMemberSwap(records, swap(5, 0, 'b1', 'b4')), 'changed', state);
    t.equal(await storeMemberSwap(records, swap(0, 0, 'b1', 'b4')), 'stored', 'older ones');
    t.match((await records.read(ledgerId))?.metadata, { state, lastEntryId: -1 });
  }
});

t.test('swap of a member: the record changes under its hands → decided anew', async (t) => {
  const records = await stored({});
  records.beforeWrite = async () => {
    const found = await records.read(ledgerId);
    await records.write(ledgerId, { ...(found?.metadata as LedgerMetadata), length: 101 }, found?.version as number);
  };
  t.equal(await storeMemberSwap(records, swap(0, 1, 'b2', 'b4')), 'stored');
  t.match((await records.read(ledgerId))?.metadata, { length: 101 });
  t.equal(await segments(records), '0:b1,b4 5:b1,b3');
  records.beforeWrite = () => records.delete(ledgerId);
  t.equal(await storeMemberSwap(records, swap(0, 0, 'b1', 'b5')), 'deleted');
});
