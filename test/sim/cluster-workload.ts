import type { LedgerReader, LedgerWriter } from '@daybook/ledger';
import type { EntryId, LedgerId } from '@daybook/proto';
import { below } from '@daybook/runtime';
import type { ClientRun, Script } from './client-node.js';
import { type Directory, expected, type LedgerWorkload, password, type Quorum } from './workload.js';
import type { World } from './world.js';

/** Follows ledgers by long polls, deletes some, writes some whose entries become durable only when they are forced. */
export function followerScript(world: World, directory: Directory, workload: LedgerWorkload): Script {
  return async (run) => {
    while (world.phase === 'safety') {
      await run.clock.sleep(run.random.between(1, workload.thinkMsMax * 2));
      const choice = run.random.fraction();
      const known = directory.ledgerIds[below(run.random, directory.ledgerIds.length)];
      if (choice < 0.25 && directory.ledgerIds.length < workload.ledgersMax) await writeDeferred(world, run, directory, workload);
      else if (known === undefined) continue;
      else if (choice < 0.35) await remove(run, known);
      else await follow(world, run, known);
    }
  };
}

async function remove(run: ClientRun, ledgerId: number): Promise<void> {
  run.note(`deletes ledger ${ledgerId}`);
  await attempt(run, () => run.client.delete(ledgerId as LedgerId));
}

async function follow(world: World, run: ClientRun, ledgerId: number): Promise<void> {
  let reader: LedgerReader | undefined;
  await attempt(run, async () => {
    reader = await run.client.openWithoutRecovery(ledgerId as LedgerId, { password });
    for (let after = run.random.chance(0.5) ? -1 : reader.lastAddConfirmed, rounds = 0; rounds < 20 && world.phase === 'safety'; rounds++) {
      const { lastAddConfirmed, entry } = await reader.readLastAddConfirmedAndEntry(after as EntryId, 500);
      if (lastAddConfirmed < after)
        world.history.violate('I5', `ledger ${ledgerId}: last-add-confirmed went back from ${after} to ${lastAddConfirmed}`);
      const { isClosed, length } = reader;
      const told = { node: run.name, ledgerId, lastConfirmed: lastAddConfirmed, isClosed, length };
      if (isClosed) return;
      world.history.tell({ kind: 'opened', ...told });
      if (entry === undefined) continue;
      if (entry.entryId !== after + 1)
        world.history.violate('I14', `${run.name} waited for entry ${after + 1} of ledger ${ledgerId} and got ${entry.entryId}`);
      world.history.tell({ kind: 'read', node: run.name, ledgerId, entryId: entry.entryId, payload: entry.payload });
      after = entry.entryId;
    }
  });
  await reader?.close();
}

async function writeDeferred(
  world: World,
  run: ClientRun,
  directory: Directory,
  { quorums, payloadBytesMax, burstMax }: LedgerWorkload,
): Promise<void> {
  const quorum = quorums[below(run.random, quorums.length)] as Quorum;
  await attempt(run, async () => {
    const writer = await run.client.create({ ...quorum, password, writeFlags: ['DEFERRED_SYNC'] });
    const { ledgerId } = writer;
    directory.ledgerIds.push(ledgerId);
    run.note(`ledger ${ledgerId} created, synced later`);
    world.history.tell({ kind: 'ledger created', node: run.name, ledgerId, ackQuorumSize: quorum.ackQuorumSize });
    let forced = -1;
    for (let round = below(run.random, 4); round >= 0; round--) {
      await burst(world, run, writer, { payloadBytesMax, count: 1 + below(run.random, burstMax) });
      const upTo = await writer.force();
      run.note(`ledger ${ledgerId} forced up to ${upTo}`);
      if (upTo > forced) world.history.tell({ kind: 'confirmed', node: run.name, ledgerId, upTo });
      forced = upTo;
    }
    if (run.random.chance(0.3)) return;
    const { lastEntryId, length } = await writer.close();
    world.history.tell({ kind: 'writer closed', node: run.name, ledgerId, lastEntryId, length });
  });
}

async function burst(world: World, run: ClientRun, writer: LedgerWriter, { payloadBytesMax, count }: { payloadBytesMax: number; count: number }) {
  const appends: Promise<unknown>[] = [];
  for (let i = 0; i < count && !writer.isFull; i++) {
    const before = writer.lastAddPushed;
    const payload = Buffer.alloc(below(run.random, payloadBytesMax), `${writer.ledgerId}/${before + 1} `);
    appends.push(writer.append(payload));
    if (writer.lastAddPushed === before) break;
    world.history.tell({ kind: 'pushed', node: run.name, ledgerId: writer.ledgerId, entryId: writer.lastAddPushed, payload });
  }
  const outcomes = await Promise.allSettled(appends);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

async function attempt(run: ClientRun, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    expected(error);
    run.note(error.message);
  }
}
