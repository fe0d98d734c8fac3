import { batchBytesDefault, createDigest, decodeAppendBatch, type EntryId, type LedgerId } from '@daybook/proto';
import t from 'tap';
import { storesEntry } from './distribution.js';
import { blobFor, TurnBatcher } from './turn-batch.js';

function batcher(ensembleSize: number, writeQuorumSize: number): TurnBatcher {
  return new TurnBatcher({
    sizes: { ensembleSize, writeQuorumSize, ackQuorumSize: 1 },
    ledgerId: 7 as LedgerId,
    masterKey: Buffer.alloc(20),
    digest: createDigest('CRC32C', Buffer.alloc(0)),
    isRecovery: false,
  });
}

function fill(target: TurnBatcher, count: number, payloadBytes: number): void {
  for (let id = 0; id < count; id++)
    target.add(id as EntryId, -1 as EntryId, (id + 1) * payloadBytes, Buffer.alloc(payloadBytes, id), { monoMs: () => 5 });
}

t.test('turn batcher: E = Qw → one blob for all indexes, split at its size limit, nothing left behind', async (t) => {
  const target = batcher(3, 3);
  t.same(target.take(), []);
  fill(target, 100, 10_000);
  const pending = target.bytes;
  const batches = target.take();
  t.ok(batches.length > 1);
  t.equal(
    batches.reduce((sum, batch) => sum + batch.bytes, 0),
    pending,
  );
  t.equal(target.bytes, 0);
  let next = 0;
  for (const [number, batch] of batches.entries()) {
    t.match(batch, { number, firstEntryId: next, lengthUpTo: (batch.lastEntryId + 1) * 10_000, builtAtMs: 5 });
    t.equal(blobFor(batch, 0), blobFor(batch, 2));
    t.ok(batch.bytes <= batchBytesDefault);
    t.equal(decodeAppendBatch(blobFor(batch, 0).bytes).count, batch.lastEntryId - batch.firstEntryId + 1);
    next = batch.lastEntryId + 1;
  }
  t.equal(next, 100);
});

t.test('turn batcher: E > Qw → each index gets exactly its entries', async (t) => {
  const target = batcher(5, 2);
  fill(target, 12, 10);
  const [batch] = target.take();
  for (let index = 0; index < 5; index++) {
    const blob = blobFor(batch as NonNullable<typeof batch>, index);
    const ids = Array.from({ length: blob.count }, (_, i) => blob.entryIdAt(i) as number);
    t.same(
      ids,
      Array.from({ length: 12 }, (_, id) => id).filter((id) => storesEntry({ ensembleSize: 5, writeQuorumSize: 2 }, index, id)),
    );
  }
});
