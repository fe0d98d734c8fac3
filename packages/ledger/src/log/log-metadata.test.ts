import type { LedgerId } from '@daybook/proto';
import t from 'tap';
import { LogMetadata } from './log-metadata.js';
import type { CompletedSegment } from './segment-format.js';
import { LogWorld } from './testing/log-world.js';

function completed(sequence: number, lastTxId = sequence): CompletedSegment {
  const place = { status: 'active', firstActiveEntryId: 0, firstActiveSlot: 0, startSequenceId: 0 } as const;
  const end = { lastTxId, completedAtMs: 1, lastEntryId: 0, lastSlot: 0, recordsCount: 1 };
  return { kind: 'completed', ledgerId: (100 + sequence) as LedgerId, sequence, firstTxId: lastTxId, ...place, ...end };
}

async function prepared() {
  const world = new LogWorld();
  const node = world.node();
  const metadata = new LogMetadata(node, 'a');
  await world.run(metadata.create());
  for (const sequence of [1, 2, 3]) await world.run(metadata.writeCompleted(completed(sequence)));
  return { world, node, metadata };
}

t.test('log metadata: segments are purged while a snapshot is taken → it shows the log before or after, not half', async (t) => {
  const { world, metadata } = await prepared();
  const slow = world.node();
  const list = slow.store.children.bind(slow.store);
  let isFirst = true;
  slow.store.children = async (path) => {
    if (isFirst) {
      isFirst = false;
      await metadata.update((head) => ({ ...head, firstSequence: 3 }));
      await metadata.removeCompleted(1);
      await metadata.removeCompleted(2);
    }
    return list(path);
  };
  const { head, segments } = await world.run(new LogMetadata(slow, 'a').snapshot());
  t.equal(head.firstSequence, 3, 'who reads from 1 is told, and does not just begin with 3');
  t.same(
    segments.map(({ sequence }) => sequence),
    [3],
  );
});

t.test('log metadata: a key left below the first segment, one beside its segment in progress → not in a snapshot', async (t) => {
  const { world, metadata } = await prepared();
  await world.run(
    metadata.update((head) => ({
      ...head,
      firstSequence: 2,
      highestSequence: 3,
      inProgress: [
        {
          kind: 'in progress',
          ledgerId: 103 as LedgerId,
          sequence: 3,
          firstTxId: 3,
          status: 'active',
          firstActiveEntryId: 0,
          firstActiveSlot: 0,
          startSequenceId: 2,
        },
      ],
    })),
  );
  t.same(
    (await world.run(metadata.snapshot())).segments.map(({ sequence, kind }) => [sequence, kind]),
    [
      [2, 'completed'],
      [3, 'in progress'],
    ],
  );
  t.same((await world.run(metadata.snapshot(3))).segments.length, 1);
});

t.test('log metadata: the same segment completed twice → fine; another end under its number → LOG_SEGMENT_LOST', async (t) => {
  const { world, metadata } = await prepared();
  await world.run(metadata.writeCompleted({ ...completed(1), completedAtMs: 77 }));
  t.equal((await world.rejection(metadata.writeCompleted(completed(1, 9)))).code, 'LOG_SEGMENT_LOST');
});

t.test('log metadata: answers are lost → a change happens once; nobody answers → METADATA_UNAVAILABLE', async (t) => {
  const { world, node, metadata } = await prepared();
  node.session.setFaults({ lostReplies: 400 });
  let applied = 0;
  for (let i = 0; i < 10; i++) {
    const wanted = i + 1;
    for (;;) {
      const done = metadata.update((head) => (head.recordsCount >= wanted ? undefined : { ...head, recordsCount: head.recordsCount + 1 }));
      if (
        await world.run(
          done.then(
            () => true,
            () => false,
          ),
        )
      )
        break;
    }
    applied++;
  }
  node.session.setFaults({ lostReplies: 0 });
  t.equal((await world.run(metadata.readHead())).head.recordsCount, applied);
  node.session.setFaults({ lostRequests: 1_000 });
  t.equal((await world.rejection(metadata.update((head) => ({ ...head })))).code, 'METADATA_UNAVAILABLE');
});

t.test('log metadata: others change the head all the time → LOG_CONTENDED in the end', async (t) => {
  const { world, node, metadata } = await prepared();
  const other = new LogMetadata(world.node(), 'a');
  node.store.beforeWrite = async () => void (await other.update((head) => ({ ...head, epoch: head.epoch + 1 })));
  t.equal((await world.rejection(metadata.update((head) => ({ ...head, owner: 'me' })))).code, 'LOG_CONTENDED');
});
