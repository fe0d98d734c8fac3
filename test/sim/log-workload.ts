import type { Cursor, ManagedLedger, ManagedLedgerOptions, StoredEntry } from '@daybook/broker';
import { below } from '@daybook/runtime';
import type { ClientRun, Script } from './client-node.js';
import type { LogPromises } from './history.js';
import { expected, type Quorum } from './workload.js';
import type { World } from './world.js';

export interface LogWorkload {
  readonly name: string;
  readonly quorum: Quorum;
  readonly thinkMsMax: number;
  readonly burstMax: number;
  readonly payloadBytesMax: number;
  readonly entriesPerLedgerMax: number;
  /** How long one broker serves before it hands the log over, or just forgets about it. */
  readonly tenureMsMax: number;
}

const cursorName = 'subscription';

/** A log that this process has open, and what it was told about its appends. */
class ServedLog {
  readonly log: ManagedLedger;
  /** This broker's nth time with the log. */
  readonly tenure: string;
  readonly unanswered: string[] = [];
  isFenced = false;
  isClosed = false;
  readonly #world: World;
  readonly #broker: string;

  constructor(world: World, broker: string, log: ManagedLedger, nth: number) {
    this.#world = world;
    this.#broker = broker;
    this.tenure = `${broker}/${nth}`;
    this.log = log;
    const { name } = log;
    log.listen({
      appended: (ledgerId, first, count) => {
        if (this.isFenced) world.history.violate('I20', `${broker}: an append was answered after the log was fenced`);
        world.history.note(broker, `appended ${ledgerId}:${first} x${count}`);
        for (let i = 0; i < count; i++) {
          const text = this.unanswered.shift();
          if (text === undefined) world.history.violate('I1', `${broker}: more appends answered than asked for`);
          else world.history.tell({ kind: 'log appended', broker, log: name, text, ledgerId, entryId: first + i });
        }
      },
      failed: (count, error) => {
        world.history.note(broker, `${count} appends failed: ${error.message}`);
        if (this.unanswered.splice(0, count).length < count) world.history.violate('I1', `${broker}: more appends failed than asked for`);
      },
      fenced: (error) => {
        world.history.note(broker, `fenced: ${error.message}`);
        this.isFenced = true;
      },
    });
  }

  get isSettled(): boolean {
    return this.isFenced || this.unanswered.length === 0;
  }

  append(text: string, padding: number): boolean {
    if (this.isFenced || this.isClosed || this.log.isFull) return false;
    this.#world.history.tell({ kind: 'log pushed', broker: this.#broker, log: this.log.name, text });
    this.unanswered.push(text);
    try {
      this.log.append(Buffer.from(`${text}|${'.'.repeat(padding)}`));
      return true;
    } catch (error) {
      this.unanswered.pop();
      expected(error);
      return false;
    }
  }
}

function textOf(entry: StoredEntry): string {
  const whole = entry.payload.toString();
  return whole.slice(0, whole.indexOf('|'));
}

export function logOptions({ quorum, entriesPerLedgerMax }: LogWorkload): ManagedLedgerOptions {
  return { ...quorum, entriesPerLedgerMax, bytesPerLedgerMax: 40_000, rolloverTimeMinMs: 0, rolloverTimeMaxMs: 5_000 };
}

/** Opens the log (taking it from whoever has it), appends, consumes; hands it over or is robbed of it. */
export function logScript(world: World, workload: LogWorkload): Script {
  return async (run) => {
    const served = new Map<ManagedLedger, ServedLog>();
    let appendsCount = 0;
    while (world.phase === 'safety') {
      await run.clock.sleep(run.random.between(5, workload.tenureMsMax / 2));
      const opened = await open(world, run, workload, served);
      if (opened === undefined) continue;
      const { log, cursor } = opened;
      const untilMs = run.clock.monoMs() + run.random.between(100, workload.tenureMsMax);
      while (world.phase === 'safety' && !log.isFenced && run.clock.monoMs() < untilMs) {
        await run.clock.sleep(run.random.between(1, workload.thinkMsMax));
        const count = below(run.random, workload.burstMax + 1);
        for (let i = 0; i < count; i++) {
          if (!log.append(`${run.name}-${appendsCount++}`, below(run.random, workload.payloadBytesMax))) break;
        }
        if (run.random.chance(0.5)) await consume(world, run, log, cursor);
        if (run.random.chance(0.15)) await flush(world, run, log, cursor);
      }
      if (run.random.chance(0.3)) await close(world, run, log);
    }
    while ([...served.values()].some((log) => !log.isSettled)) await run.clock.sleep(100);
    for (const log of served.values()) if (!log.isFenced && run.random.chance(0.5)) await close(world, run, log);
  };
}

async function open(
  world: World,
  run: ClientRun,
  workload: LogWorkload,
  served: Map<ManagedLedger, ServedLog>,
): Promise<{ log: ServedLog; cursor: Cursor } | undefined> {
  const { history } = world;
  try {
    history.tell({ kind: 'log opening', broker: run.name, log: workload.name });
    // What holds now must hold for whoever opens from here on; what others do meanwhile need not.
    const before = world.log.promises();
    const log = await run.logs.open(workload.name, logOptions(workload));
    let own = served.get(log);
    const isNew = own === undefined;
    if (own === undefined) {
      own = new ServedLog(world, run.name, log, served.size + 1);
      served.set(log, own);
      const { lastConfirmed } = log;
      history.note(run.name, `log opened at ${lastConfirmed.ledgerId}:${lastConfirmed.entryId}`);
      history.tell({ kind: 'log opened', broker: run.name, tenure: own.tenure, log: log.name, lastConfirmed, before });
    }
    const cursor = await log.openCursor(cursorName, log.beforeFirst);
    if (isNew) tellCursor(world, run, log, { cursor, before });
    return { log: own, cursor };
  } catch (error) {
    expected(error);
    history.note(run.name, `log not opened: ${error.message}`);
    return undefined;
  }
}

function tellCursor(world: World, run: ClientRun, log: ManagedLedger, { cursor, before }: { cursor: Cursor; before: LogPromises }): void {
  world.history.note(run.name, `cursor at ${cursor.markDelete.ledgerId}:${cursor.markDelete.entryId}`);
  world.history.tell({
    kind: 'cursor opened',
    broker: run.name,
    log: log.name,
    mark: cursor.markDelete,
    before,
    isAcknowledged: (ledgerId, entryId) => cursor.isAcknowledged({ ledgerId, entryId } as Parameters<Cursor['isAcknowledged']>[0]),
  });
}

async function consume(world: World, run: ClientRun, { log, tenure }: ServedLog, cursor: Cursor): Promise<void> {
  try {
    const entries = await log.read(cursor.markDelete, { entriesMax: 1 + below(run.random, 20), bytesMax: 16 * 1024 });
    tellRead(world, run, log, entries);
    const acked = (entry: StoredEntry) => world.history.tell({ kind: 'cursor acked', tenure, log: log.name, position: entry.position });
    const last = entries.at(-1);
    if (last !== undefined && run.random.chance(0.3)) {
      cursor.acknowledgeUpTo(last.position);
      for (const entry of entries) acked(entry);
      return;
    }
    for (const entry of entries) if (run.random.chance(0.5) && cursor.acknowledge(entry.position)) acked(entry);
  } catch (error) {
    expected(error);
    world.history.note(run.name, `not read: ${error.message}`);
  }
}

function tellRead(world: World, run: ClientRun, log: ManagedLedger, entries: readonly StoredEntry[]): void {
  for (const entry of entries)
    world.history.tell({ kind: 'log read', broker: run.name, log: log.name, text: textOf(entry), position: entry.position });
}

async function flush(world: World, run: ClientRun, { log, tenure }: ServedLog, cursor: Cursor): Promise<void> {
  const flushed = world.log.ackedIn(tenure);
  try {
    await (world.mutation?.cursor?.(cursor) ?? cursor).flush();
    world.history.note(run.name, `cursor flushed: mark ${cursor.markDelete.ledgerId}:${cursor.markDelete.entryId}, ${flushed.length} acks`);
    world.history.tell({ kind: 'cursor flushed', broker: run.name, log: log.name, flushed });
  } catch (error) {
    expected(error);
    world.history.note(run.name, `cursor not flushed: ${error.message}`);
  }
}

async function close(world: World, run: ClientRun, served: ServedLog): Promise<void> {
  if (served.isFenced || served.isClosed) return;
  served.isClosed = true;
  try {
    await served.log.close();
    world.history.note(run.name, 'log closed');
    if (!served.isFenced && served.unanswered.length > 0) {
      world.history.violate('I18', `${run.name}: closed with ${served.unanswered.length} appends unanswered`);
    }
  } catch (error) {
    expected(error);
    world.history.note(run.name, `log not closed: ${error.message}`);
  }
}

/** Takes the log over a last time, reads all of it, appends once more, consumes everything. */
export function lastReader(world: World, workload: LogWorkload): Script {
  return async (run) => {
    const served = new Map<ManagedLedger, ServedLog>();
    for (;;) {
      const opened = await open(world, run, workload, served);
      if (opened !== undefined && (await readAll(world, run, opened))) return;
      await run.clock.sleep(500);
    }
  };
}

async function readAll(world: World, run: ClientRun, { log: served, cursor }: { log: ServedLog; cursor: Cursor }): Promise<boolean> {
  const { log } = served;
  try {
    const { beforeFirst } = log;
    const entries: StoredEntry[] = [];
    for (let after = beforeFirst; ; ) {
      const some = await log.read(after, { entriesMax: 50, bytesMax: 32 * 1024 });
      if (some.length === 0) break;
      tellRead(world, run, log, some);
      entries.push(...some);
      after = (some.at(-1) as StoredEntry).position;
    }
    const list = entries.map((entry) => ({ position: entry.position, text: textOf(entry) }));
    world.history.tell({ kind: 'log complete', broker: run.name, log: log.name, beforeFirst, entries: list });
    served.append(`${run.name}-last`, 10);
    while (!served.isSettled) await run.clock.sleep(50);
    cursor.acknowledgeUpTo(log.lastConfirmed);
    await cursor.flush();
    await close(world, run, served);
    return !served.isFenced;
  } catch (error) {
    expected(error);
    world.history.note(run.name, `log not read: ${error.message}`);
    return false;
  }
}
