import { createDigest, type EntryId, encodeEntry, entryBytes, type LacReply, type LedgerId } from '@daybook/proto';
import t from 'tap';
import { endFromReplies } from './lac.js';

const ledgerId = 7 as LedgerId;
const digest = createDigest('CRC32C', Buffer.alloc(0));
const newest = (entryId: number, lastAddConfirmed: number, length: number): LacReply => {
  const bytes = Buffer.alloc(entryBytes(digest, 1));
  encodeEntry(bytes, 0, ledgerId, entryId, lastAddConfirmed, length, Buffer.from('x'), digest);
  return { code: 'OK', lastEntry: bytes };
};
const damaged = (reply: LacReply): LacReply => {
  const lastEntry = Buffer.from(reply.lastEntry ?? []);
  lastEntry[40] = (lastEntry[40] as number) ^ 1;
  lastEntry[16] = (lastEntry[16] as number) ^ 1;
  return { code: 'OK', lastEntry };
};

t.test('last-add-confirmed from replies: the highest valid one, never below the start of the last segment (P4)', async (t) => {
  const cases: [string, (LacReply | undefined)[], number, { lastConfirmed: number; length: number | undefined; newest: number }][] = [
    ['nobody has anything', [{ code: 'NO_ENTRY' }, { code: 'NO_LEDGER' }], 0, { lastConfirmed: -1, length: undefined, newest: -1 }],
    ['fresh last segment', [{ code: 'NO_ENTRY' }, undefined], 10, { lastConfirmed: 9, length: undefined, newest: 9 }],
    ['highest wins', [newest(5, 3, 60), newest(8, 6, 90), newest(6, 5, 70)], 0, { lastConfirmed: 6, length: 70, newest: 8 }],
    ['length only from the entry itself', [newest(8, 6, 90)], 0, { lastConfirmed: 6, length: undefined, newest: 8 }],
    ['damaged does not count', [damaged(newest(9, 8, 90)), newest(5, 3, 60)], 0, { lastConfirmed: 3, length: undefined, newest: 5 }],
  ];
  for (const [name, replies, lastSegmentFirst, expected] of cases) {
    t.same(endFromReplies(replies, { ledgerId, digest, lastSegmentFirst: lastSegmentFirst as EntryId }), expected, name);
  }
});
