import t from 'tap';
import { explain, type SubscriptionCounters } from './explain.js';

const consumer = { name: 'c', permitsAvailable: 10, isWritable: true, heldCount: 0, unackedMax: 100 };
const moving: SubscriptionCounters = {
  backlogCount: 10,
  heldCount: 0,
  readyCount: 0,
  waitingCount: 0,
  nextDueInMs: undefined,
  unackedMax: 1000,
  consumers: [consumer],
  readError: undefined,
};

const cases: [string, Partial<SubscriptionCounters>, unknown[]][] = [
  ['room and a backlog → nothing', {}, []],
  ['nobody connected', { consumers: [] }, [{ kind: 'no-consumers' }]],
  ['everything delivered', { heldCount: 10 }, [{ kind: 'all-delivered' }]],
  ['empty', { backlogCount: 0, consumers: [] }, [{ kind: 'all-delivered' }]],
  ['no permits', { consumers: [{ ...consumer, permitsAvailable: 0 }] }, [{ kind: 'no-permits', consumer: 'c' }]],
  ['no permits, but another has room', { consumers: [{ ...consumer, permitsAvailable: 0 }, consumer] }, []],
  ['not reading', { consumers: [{ ...consumer, isWritable: false }] }, [{ kind: 'not-reading', consumer: 'c' }]],
  [
    'consumer at its limit',
    { heldCount: 5, consumers: [{ ...consumer, heldCount: 100 }] },
    [{ kind: 'consumer-unacked-limit', consumer: 'c', heldCount: 100, unackedMax: 100 }],
  ],
  [
    'subscription at its limit',
    { backlogCount: 2000, heldCount: 990, waitingCount: 10, nextDueInMs: 70 },
    [
      { kind: 'waiting-for-redelivery', count: 10, nextDueInMs: 70 },
      { kind: 'subscription-unacked-limit', unackedCount: 1000, unackedMax: 1000 },
    ],
  ],
  [
    'the rest waits for its time',
    { heldCount: 7, waitingCount: 3, nextDueInMs: 40 },
    [{ kind: 'waiting-for-redelivery', count: 3, nextDueInMs: 40 }],
  ],
  ['storage', { readError: new Error('2 of 3 bookies are away') }, [{ kind: 'storage', detail: '2 of 3 bookies are away' }]],
];

for (const [name, change, expected] of cases) {
  t.test(`explain: ${name}`, async (t) => {
    t.same(explain({ ...moving, ...change }), expected);
  });
}
