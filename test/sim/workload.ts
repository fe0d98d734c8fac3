import type { CreateLedgerOptions, LedgerReader, LedgerWriter } from '@daybook/ledger';
import type { EntryId, LedgerId } from '@daybook/proto';
import { below, DaybookError } from '@daybook/runtime';
import type { SimRandom } from '@daybook/runtime/sim';
import type { ClientRun, Script } from './client-node.js';
import type { World } from './world.js';

export type Quorum = Pick<CreateLedgerOptions, 'ensembleSize' | 'writeQuorumSize' | 'ackQuorumSize'>;

export interface LedgerWorkload {
  readonly quorums: readonly Quorum[];
  readonly thinkMsMax: number;
  readonly burstMax: number;
  readonly payloadBytesMax: number;
  readonly ledgersMax: number;
}

export const password = Buffer.from('secret');

/** Ledgers that clients know of; a directory outside of the system. */
export class Directory {
  readonly ledgerIds: number[] = [];
}

/** A ledger being written, and what its writer was told. */
class OwnLedger {
  readonly writer: LedgerWriter;
  isFailed = false;
  isClosed = false;
  confirmed = -1;
  readonly #world: World;
  readonly #run: ClientRun;

  constructor(world: World, run: ClientRun, writer: LedgerWriter) {
    this.#world = world;
    this.#run = run;
    this.writer = writer;
    const { ledgerId } = writer;
    const node = run.name;
    const confirmed = (upTo: number) => {
      this.confirmed = upTo;
      world.history.note(node, `ledger ${ledgerId} confirmed ${upTo}`);
      world.history.tell({ kind: 'confirmed', node, ledgerId, upTo });
    };
    writer.listen({
      confirmed,
      failed: (error, upTo) => {
        if (this.isFailed) world.history.violate('I1', `ledger ${ledgerId}: its writer failed twice`);
        this.isFailed = true;
        world.history.note(node, `ledger ${ledgerId} failed at ${upTo}: ${error.message}`);
        if (upTo > this.confirmed) confirmed(upTo);
        world.history.tell({ kind: 'writer failed', node, ledgerId, upTo });
      },
    });
  }

  get isSettled(): boolean {
    return this.isFailed || this.isClosed || this.confirmed === this.writer.lastAddPushed;
  }

  push(payload: Buffer): boolean {
    if (this.isFailed || this.isClosed || this.writer.isFull) return false;
    const { ledgerId } = this.writer;
    try {
      const entryId = this.writer.push(payload);
      this.#world.history.tell({ kind: 'pushed', node: this.#run.name, ledgerId, entryId, payload });
      return true;
    } catch (error) {
      expected(error);
      return false;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const { ledgerId } = this.writer;
    const node = this.#run.name;
    try {
      const { lastEntryId, length } = await this.writer.close();
      this.#world.history.note(node, `ledger ${ledgerId} closed at ${lastEntryId}`);
      this.#world.history.tell({ kind: 'writer closed', node, ledgerId, lastEntryId, length });
    } catch (error) {
      expected(error);
      this.#world.history.note(node, `ledger ${ledgerId} not closed: ${(error as Error).message}`);
    }
  }
}

/** What may go wrong is a DaybookError; anything else is a bug. */
export function expected(error: unknown): asserts error is DaybookError {
  if (!(error instanceof DaybookError)) throw error;
}

/** Writes ledgers, closes them or not, reads and recovers everybody's. */
export function ledgerScript(world: World, directory: Directory, workload: LedgerWorkload): Script {
  return async (run) => {
    const own: OwnLedger[] = [];
    const beside = new Set<Promise<unknown>>();
    while (world.phase === 'safety') {
      await run.clock.sleep(run.random.between(1, workload.thinkMsMax));
      await act(world, run, { directory, workload, own, beside });
    }
    await Promise.all(beside);
    while (own.some((ledger) => !ledger.isSettled)) await run.clock.sleep(100);
    // Some are left as they are: somebody else has to recover them.
    for (const ledger of own) if (!ledger.isClosed && run.random.chance(0.5)) await ledger.close();
  };
}

interface Acting {
  directory: Directory;
  workload: LedgerWorkload;
  own: OwnLedger[];
  beside: Set<Promise<unknown>>;
}

async function act(world: World, run: ClientRun, { directory, workload, own, beside }: Acting): Promise<void> {
  const { random } = run;
  const writing = own.filter((ledger) => !ledger.isFailed && !ledger.isClosed);
  const choice = random.fraction();
  const known = pick(world, directory, random);
  const current = writing[below(random, writing.length)];
  if (current === undefined || (choice < 0.05 && writing.length < 3)) {
    if (directory.ledgerIds.length < workload.ledgersMax) await create(world, run, { directory, workload, own });
    else if (known !== undefined) await lookAt(world, run, known, choice < 0.5);
  } else if (choice < 0.75) burst(current, random, workload);
  else if (choice < 0.8) await current.close();
  else if (known !== undefined) {
    // Not waited for: reading, recovering and writing overlap in one process.
    const task: Promise<unknown> = lookAt(world, run, known, choice < 0.88).finally(() => beside.delete(task));
    beside.add(task);
    if (random.chance(0.5)) await task;
  }
}

/** Mostly one that is not closed yet: there is more to go wrong. */
function pick(world: World, { ledgerIds }: Directory, random: SimRandom): number | undefined {
  const open = ledgerIds.filter((ledgerId) => world.ledgers.get(ledgerId).record?.state !== 'CLOSED');
  const from = open.length > 0 && random.chance(0.7) ? open : ledgerIds;
  return from[below(random, from.length)];
}

async function create(world: World, run: ClientRun, { directory, workload, own }: Omit<Acting, 'beside'>): Promise<void> {
  const quorum = workload.quorums[below(run.random, workload.quorums.length)] as Quorum;
  try {
    const writer = await run.client.create({ ...quorum, password, shrinkToAvailable: run.random.chance(0.5) });
    directory.ledgerIds.push(writer.ledgerId);
    world.history.note(run.name, `ledger ${writer.ledgerId} created`);
    world.history.tell({ kind: 'ledger created', node: run.name, ledgerId: writer.ledgerId, ackQuorumSize: quorum.ackQuorumSize });
    own.push(new OwnLedger(world, run, writer));
  } catch (error) {
    expected(error);
    world.history.note(run.name, `no ledger created: ${error.message}`);
  }
}

function burst(ledger: OwnLedger, random: SimRandom, { burstMax, payloadBytesMax }: LedgerWorkload): void {
  const count = 1 + below(random, burstMax);
  for (let i = 0; i < count; i++) {
    const text = `${ledger.writer.ledgerId}/${ledger.writer.lastAddPushed + 1} `;
    const payload = Buffer.alloc(below(random, payloadBytesMax), text);
    if (!ledger.push(payload)) return;
  }
}

/** Opens a ledger and reads all that it is told to be there. */
export async function lookAt(world: World, run: ClientRun, ledgerId: number, withRecovery: boolean): Promise<boolean> {
  const node = run.name;
  let reader: LedgerReader | undefined;
  try {
    world.history.note(node, `opens ledger ${ledgerId}${withRecovery ? ' with recovery' : ''}`);
    const options = { password };
    const id = ledgerId as LedgerId;
    reader = withRecovery ? await run.client.openWithRecovery(id, options) : await run.client.openWithoutRecovery(id, options);
    const { lastAddConfirmed, isClosed, length } = reader;
    world.history.note(node, `ledger ${ledgerId} opened, ${isClosed ? 'closed' : 'open'} at ${lastAddConfirmed}`);
    world.history.tell({ kind: 'opened', node, ledgerId, lastConfirmed: lastAddConfirmed, isClosed, length });
    await readAll(world, run, reader);
    if (!isClosed && run.random.chance(0.5)) {
      const before = reader.lastAddConfirmed;
      const lastConfirmed = await reader.readLastAddConfirmed();
      if (lastConfirmed < before) world.history.violate('I5', `ledger ${ledgerId}: last-add-confirmed went back from ${before} to ${lastConfirmed}`);
      world.history.tell({ kind: 'opened', node, ledgerId, lastConfirmed, isClosed: reader.isClosed, length: reader.length });
      await readAll(world, run, reader);
    }
    return true;
  } catch (error) {
    expected(error);
    world.history.note(node, `ledger ${ledgerId}: ${error.message}`);
    if (error.code === 'LEDGER_NO_SUCH_ENTRY' || error.code === 'LEDGER_BAD_RANGE') {
      world.history.tell({ kind: 'absent', node, ledgerId, lastConfirmed: reader?.lastAddConfirmed ?? -1, text: error.message });
    }
    return false;
  } finally {
    await reader?.close();
  }
}

async function readAll(world: World, run: ClientRun, reader: LedgerReader): Promise<void> {
  const last = reader.lastAddConfirmed;
  for (let next = 0; next <= last; ) {
    const entries = await reader.readBatch(next as EntryId, last, 16 * 1024);
    for (const { entryId, payload } of entries) {
      if (entryId !== next) world.history.violate('I14', `${run.name} asked for entry ${next} of ledger ${reader.ledgerId} and got ${entryId}`);
      world.history.tell({ kind: 'read', node: run.name, ledgerId: reader.ledgerId, entryId, payload });
      next++;
    }
    if (entries.length === 0) return world.history.violate('I14', `a read of ledger ${reader.ledgerId} from ${next} gave nothing`);
  }
}
