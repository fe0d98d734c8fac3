import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import type { BookieId } from '@daybook/proto';
import { BookieLoad } from './bookie-load.js';
import { openView, type View } from './lose-bookie.js';
import { ChildProgram, pause, temporaryFolder, until } from './processes.js';

const program = fileURLToPath(new URL('./bookie-program.js', import.meta.url));

export interface KillBookieOptions {
  rounds: number;
  log: (line: string) => void;
}

export interface KillBookieResult {
  problems: string[];
  acknowledged: number;
  deletedLedgers: number;
  /** In how many rounds that was done before the kill. */
  roundsWith: { collected: number; minor: number; major: number; killedWhileCompacting: number };
  startMs: number[];
}

interface CompactionTally {
  count: number;
  logs: number;
  entries: number;
}

interface GarbageDetails {
  deletedLedgers: number;
  removedLogs: number;
  compacting?: string;
  compactions: { minor: CompactionTally; major: CompactionTally };
}

interface EntryLog {
  logId: number;
  bytes: number;
  liveBytes?: number;
  liveEntries?: number;
}

const roundMsMax = 8_000;

/**
 * kill -9 of one bookie, again and again, while ledgers are written, read and deleted and its garbage collection and both compactions run. After each start every
 * acknowledged entry is there; in the end nothing is there twice, and what was deleted has given its space back.
 */
export async function killBookie({ rounds, log }: KillBookieOptions): Promise<KillBookieResult> {
  const zookeeper = await ZooKeeperServer.start();
  const folder = temporaryFolder();
  const metadata = `zk://${zookeeper.address}/daybook`;
  const node = new KilledBookie(metadata, folder.path);
  let view: View | undefined;
  try {
    await node.start();
    view = await openView(metadata);
    return await run({ rounds, log }, node, view, folder.path);
  } finally {
    await view?.close();
    await node.kill();
    await zookeeper.stop();
    folder.remove();
  }
}

async function run({ rounds, log }: KillBookieOptions, node: KilledBookie, view: View, folder: string): Promise<KillBookieResult> {
  const load = new BookieLoad(view, Math.random);
  const result: KillBookieResult = {
    problems: load.problems,
    acknowledged: 0,
    deletedLedgers: 0,
    roundsWith: { collected: 0, minor: 0, major: 0, killedWhileCompacting: 0 },
    startMs: [],
  };
  for (let round = 1; round <= rounds; round++) {
    const { compactions, removedLogs, deletedLedgers, compacting } = await killAtWork(node);
    load.noteKill();
    if (removedLogs > 0) result.roundsWith.collected++;
    if (compactions.minor.logs > 0) result.roundsWith.minor++;
    if (compactions.major.logs > 0) result.roundsWith.major++;
    if (compacting !== undefined) result.roundsWith.killedWhileCompacting++;
    await pause(Math.random() * 500);
    const startMs = Math.round(await node.start());
    result.startMs.push(startMs);
    await until('the bookie is registered again', 20_000, () => view.registry.list().some(({ address }) => address === node.address));
    const problems = await load.check();
    load.problems.push(...problems);
    const { minor, major } = compactions;
    log(
      `round ${round}: killed ${compacting === undefined ? 'at work' : `during ${compacting} compaction`} after ${deletedLedgers} ledgers and ${removedLogs} logs were collected, ` +
        `${minor.logs} logs by minor and ${major.logs} by major compaction; up after ${startMs} ms; ` +
        `${load.acknowledgedCount} acknowledged, ${load.existing.length} ledgers checked: ${problems.length} problems`,
    );
    if (load.problems.length > 0) break;
  }
  await load.stop();
  load.problems.push(...(await load.check()), ...(await findDoubled(node, load, view, log)));
  load.problems.push(...(await findLeaks(node, load, folder, log)));
  return { ...result, acknowledged: load.acknowledgedCount, deletedLedgers: load.deletedCount };
}

/** Waits until all kinds of its work were done once since its start, and kills it, if it can be in the middle of a compaction. */
async function killAtWork(node: KilledBookie): Promise<GarbageDetails> {
  const startMs = performance.now();
  const isLate = (): boolean => performance.now() - startMs > roundMsMax;
  let details = await node.details();
  const isDone = ({ removedLogs, compactions: { minor, major } }: GarbageDetails): boolean => removedLogs > 0 && minor.logs > 0 && major.logs > 0;
  while (!isDone(details) && !isLate()) {
    await pause(50);
    details = await node.details();
  }
  while (details.compacting === undefined && !isLate()) {
    await pause(2);
    details = await node.details();
  }
  await pause(Math.random() * 30);
  await node.kill();
  return details;
}

/** After a compaction the logs hold as many entries as the ledgers have; only those that were sent again after a kill may be there twice. */
async function findDoubled(node: KilledBookie, load: BookieLoad, view: View, log: (line: string) => void): Promise<string[]> {
  await pause(1_000);
  // The second one counts what is live in logs that the compaction of the first one has written.
  for (let round = 0; round < 2; round++) await node.collect();
  const service = view.pool.get(view.registry.list()[0]?.bookieId as BookieId)?.service;
  let entriesCount = 0;
  let sentAgain = 0;
  for (const { ledgerId, sentAgain: count } of load.existing) {
    const reply = await service?.listEntries(ledgerId);
    for (const { first, last } of reply?.runs ?? []) entriesCount += last - first + 1;
    sentAgain += count;
  }
  const logs = await node.measuredLogs();
  const liveCount = logs.reduce((sum, { liveEntries = 0 }) => sum + liveEntries, 0);
  log(`the ledgers have ${entriesCount} entries, ${sentAgain} of them were sent twice; the logs hold ${liveCount} live ones`);
  if (liveCount >= entriesCount && liveCount <= entriesCount + sentAgain) return [];
  return [`the ledgers have ${entriesCount} entries, ${sentAgain} of them were sent twice, but the logs hold ${liveCount} live ones`];
}

async function findLeaks(node: KilledBookie, load: BookieLoad, folder: string, log: (line: string) => void): Promise<string[]> {
  const problems: string[] = [];
  const before = await node.measuredLogs();
  const sum = (logs: readonly EntryLog[], of: 'bytes' | 'liveBytes'): number => logs.reduce((total, each) => total + (each[of] ?? 0), 0);
  const allowed = sum(before, 'liveBytes') / 0.8 + before.length * 4_096;
  if (sum(before, 'bytes') > allowed) problems.push(`${sum(before, 'liveBytes')} live bytes take ${sum(before, 'bytes')}`);
  for (const ledger of load.existing) await load.delete(ledger);
  await pause(500);
  for (let round = 0; round < 2; round++) await node.collect();
  const after = await node.logs();
  const files = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => /ledgers-\d.*\/(?!reserve$)/.test(name) && statSync(join(folder, name)).isFile());
  const bytes = files.reduce((total, name) => total + statSync(join(folder, name)).size, 0);
  log(
    `${sum(before, 'bytes')} bytes in ${before.length} logs for ${sum(before, 'liveBytes')} live ones; all deleted: ${after.length} logs, ${bytes} bytes of files`,
  );
  if (bytes > 1 << 20) problems.push(`after everything was deleted, ${bytes} bytes are left: ${files.join(', ')}`);
  return problems;
}

/** The process, started again after each kill on the same folder. */
class KilledBookie {
  readonly #words: readonly string[];
  #child: ChildProgram | undefined;
  #base = '';
  /** Of its gRPC service. */
  address = '';

  constructor(metadata: string, folder: string) {
    this.#words = [program, metadata, folder];
  }

  async start(): Promise<number> {
    const child = new ChildProgram(process.execPath, this.#words);
    this.#child = child;
    const tookMs = await until('the bookie is ready', 30_000, () => {
      if (!child.isRunning) throw new Error(`the bookie did not start: ${child.output}`);
      return child.output.includes('the bookie is ready');
    });
    this.address = /gRPC on ([\d.]+:\d+)/.exec(child.output)?.[1] ?? '';
    this.#base = /http:\/\/[\d.]+:\d+/.exec(child.output)?.[0] ?? '';
    return tookMs;
  }

  async kill(): Promise<void> {
    await this.#child?.kill9();
  }

  async details(): Promise<GarbageDetails> {
    const [details] = (await this.#call('GET', 'gc_details')) as [GarbageDetails];
    return details;
  }

  async logs(): Promise<EntryLog[]> {
    return (await this.#call('GET', 'entry_logs')) as EntryLog[];
  }

  /** As soon as it is known what is live in each: of a log that compaction has just made, the next round of garbage collection counts it. */
  async measuredLogs(): Promise<EntryLog[]> {
    let logs: EntryLog[] = [];
    await until('all logs are measured', 60_000, async () => {
      logs = await this.logs();
      return logs.every(({ liveEntries }) => liveEntries !== undefined);
    });
    return logs;
  }

  /** A round of garbage collection with major compaction, to its end. */
  async collect(): Promise<void> {
    await this.#call('PUT', 'gc', { forceMajor: true });
    await until('the garbage collection ends', 60_000, async () => {
      const { is_in_force_gc: isRunning } = (await this.#call('GET', 'gc')) as { is_in_force_gc: boolean };
      return !isRunning;
    });
  }

  async #call(method: string, path: string, body?: object): Promise<unknown> {
    const child = this.#child;
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    try {
      const response = await fetch(`${this.#base}/api/v1/bookie/${path}`, init);
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return (await response.json()) as unknown;
    } catch (error) {
      throw child?.isRunning === true ? error : new Error(`the bookie has ended by itself: ${child?.output}`);
    }
  }
}
