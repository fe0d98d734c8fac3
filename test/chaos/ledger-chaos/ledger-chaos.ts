import type { LedgerId } from '@daybook/proto';
import { openView, type View } from '../lose-bookie.js';
import { pause, temporaryFolder, until } from '../processes.js';
import { type ChaosBookie, ChaosCluster } from './chaos-cluster.js';
import { Copies } from './copies.js';
import { acknowledgedIn, complaintsIn, endsIn, entriesReadIn, tallyOf } from './logged.js';
import { Nemesis } from './nemesis.js';
import { chaosPassword, oneOf, seededRandom } from './shared.js';

/** By the same bookie once nothing names it any more, by another one, or by the same one at once, in limbo. */
export type Replacement = 'same' | 'other' | 'limbo';

export interface LedgerChaosOptions {
  seconds: number;
  bookies: number;
  /** Of the faults; the processes take their own course. */
  seed: number;
  /** How wiped bookies are replaced; default: drawn each time. */
  replace?: Replacement | undefined;
  log(line: string): void;
}

export interface LedgerChaosResult {
  problems: string[];
  ledgers: number;
  acknowledged: number;
  entriesRead: number;
  faults: Record<string, number>;
  /** From the last fault until a wiped bookie was replaced and all copies of all that was closed were there; then once more after every ledger was recovered. */
  wholeMs: number;
  allWholeMs: number;
  recovered: number;
  slowestRecoveryMs: number;
  copiesCompared: number;
}

const wholeBoundMs = 120_000;
/** While other things go wrong. */
const replaceBoundMs = 300_000;

/**
 * Bookies behind proxies, ZooKeeper, autorecovery, writers and readers, each a process; a nemesis that kills, stops, cuts off and wipes. Afterwards: nothing
 * acknowledged is lost, every ledger can be recovered and closed, all copies are there and equal; checked by one who asks each bookie himself.
 */
export async function ledgerChaos(options: LedgerChaosOptions): Promise<LedgerChaosResult> {
  const folder = temporaryFolder();
  options.log(`seed ${options.seed}: ${options.bookies} bookies for ${options.seconds} s in ${folder.path}`);
  let cluster: ChaosCluster | undefined;
  let run: Run | undefined;
  try {
    cluster = await ChaosCluster.start({ folder: folder.path, bookiesCount: options.bookies, writersCount: 3, readersCount: 2, seed: options.seed });
    run = new Run(options, cluster, await openView(cluster.metadata));
    return await run.run();
  } finally {
    await run?.close();
    await cluster?.end();
    if (run === undefined || run.result.problems.length === 0) folder.remove();
    else options.log(`disks and logs are kept in ${folder.path}`);
  }
}

class Run {
  readonly result: LedgerChaosResult = {
    problems: [],
    ledgers: 0,
    acknowledged: 0,
    entriesRead: 0,
    faults: {},
    wholeMs: 0,
    allWholeMs: 0,
    recovered: 0,
    slowestRecoveryMs: 0,
    copiesCompared: 0,
  };
  readonly #options: LedgerChaosOptions;
  readonly #cluster: ChaosCluster;
  readonly #view: View;
  readonly #copies: Copies;
  readonly #nemesis: Nemesis;
  readonly #random: () => number;
  readonly #beganMs = performance.now();
  #decommission: Promise<void> | undefined;
  #limbo: ChaosBookie | undefined;

  constructor(options: LedgerChaosOptions, cluster: ChaosCluster, view: View) {
    this.#options = options;
    this.#cluster = cluster;
    this.#view = view;
    this.#copies = new Copies(view, cluster.bookies);
    this.#random = seededRandom(options.seed);
    const bookiesMax = options.bookies > 3 ? 2 : 1;
    this.#nemesis = new Nemesis({ cluster, view, random: this.#random, bookiesMax, log: (line) => this.#log(line) });
  }

  async run(): Promise<LedgerChaosResult> {
    const { seconds } = this.#options;
    const endMs = seconds * 1_000;
    await until('entries are acknowledged', 30_000, () => this.#acknowledged() > 500);
    let nextWipeMs = Math.min(endMs * 0.4, 40_000);
    this.#nemesis.start();
    while (this.#elapsedMs() < endMs) {
      await pause(250);
      if (this.#elapsedMs() < nextWipeMs || this.#decommission !== undefined || (await this.#isInLimbo())) continue;
      await this.#nemesis.stop();
      await this.#wipe();
      this.#nemesis.start();
      nextWipeMs = this.#elapsedMs() + 60_000;
    }
    await this.#nemesis.stop();
    this.#log('no more faults');
    const calmMs = performance.now();
    await this.#decommission;
    await this.#check(calmMs);
    return this.result;
  }

  async close(): Promise<void> {
    this.#copies.close();
    await this.#view.close();
  }

  #elapsedMs(): number {
    return performance.now() - this.#beganMs;
  }

  #log(line: string): void {
    this.#options.log(`${(this.#elapsedMs() / 1_000).toFixed(1)} s: ${line}`);
  }

  #acknowledged(): number {
    return [...acknowledgedIn(this.#cluster.logFolder).values()].reduce((sum, last) => sum + last + 1, 0);
  }

  /** All copies are back: only then may one disk be lost, as Qa - 1 losses are what the settings promise to outlive. */
  async #untilWhole(): Promise<number> {
    let holes: string[] = [];
    try {
      return await until('all copies are there', wholeBoundMs, async () => {
        holes = await this.#copies.holes(await this.#ledgerIds());
        return holes.length === 0;
      });
    } catch (error) {
      this.result.problems.push(`${String(error)}: ${holes.length} ledgers lack copies: ${holes.slice(0, 5).join('; ')}`);
      await this.#tellOfRepair();
      return wholeBoundMs;
    }
  }

  /** Why copies are missing, as those say who should make them. */
  async #tellOfRepair(): Promise<void> {
    for (const node of this.#cluster.autorecovery) {
      const status = await fetch(`${node.httpUrl}/status`).then(
        (reply) => reply.json(),
        (error: unknown) => String(error),
      );
      this.#log(`${node.name} says: ${JSON.stringify(status)}`);
    }
  }

  async #ledgerIds(): Promise<LedgerId[]> {
    const all: LedgerId[] = [];
    for await (const ledgerId of this.#view.records.list()) all.push(ledgerId);
    return all;
  }

  /** A disk is lost for good; the bookie is decommissioned as an operator does it, while other things go wrong. */
  async #wipe(): Promise<void> {
    const wholeMs = Math.round(await this.#untilWhole());
    if (this.result.problems.length > 0) return;
    const bookie = oneOf(this.#random, this.#cluster.bookies);
    this.#log(`all copies are there ${wholeMs} ms after the last fault; the disk of ${bookie.bookieId} is wiped`);
    this.result.faults['disk wiped'] = (this.result.faults['disk wiped'] ?? 0) + 1;
    await this.#cluster.wipe(bookie);
    const refusal = await bookie.node.startsNot();
    if (!/cookie/i.test(refusal)) this.result.problems.push(`a bookie with an empty disk under its old id said: ${refusal}`);
    this.#decommission = this.#nemesis
      .leavingAlone(bookie, () => this.#replace(bookie))
      .catch((error: unknown) => void this.result.problems.push(`${bookie.bookieId} could not be replaced: ${String(error)}`))
      .finally(() => {
        this.#decommission = undefined;
      });
  }

  /** One of the ways an operator has: another bookie in its place, the same one once nothing names it any more, or the same one at once, which is then in limbo. */
  async #replace(bookie: ChaosBookie): Promise<void> {
    const ways: Replacement[] = ['other'];
    if (this.#options.bookies > 3) ways.push('same');
    if (this.#options.seconds > 120) ways.push('limbo');
    const way = this.#options.replace ?? oneOf(this.#random, ways);
    if (way === 'limbo') return await this.#refill(bookie);
    const { bookieId } = bookie;
    if (way === 'other') {
      await this.#cluster.addBookie(`${bookieId}x`);
      this.#log(`${bookieId}x is there instead of ${bookieId}`);
    }
    await this.#decommissioned(bookieId);
    if (way === 'other') {
      await bookie.proxy.close();
      this.#cluster.bookies.splice(this.#cluster.bookies.indexOf(bookie), 1);
    } else {
      await bookie.node.start();
      this.#log(`${bookieId} is there again with an empty disk`);
    }
  }

  async #decommissioned(bookieId: string): Promise<void> {
    const beganMs = performance.now();
    for (let attempt = 1; ; attempt++) {
      const { isDone, output } = await this.#cluster.shell('decommissionbookie', bookieId);
      if (isDone) break;
      this.#log(`attempt ${attempt} to decommission ${bookieId} failed: ${output.trim().split('\n').at(-1)}`);
      if (performance.now() - beganMs > replaceBoundMs) throw new Error(`not decommissioned within ${replaceBoundMs} ms: ${output}`);
      await pause(1_000);
    }
    this.#log(`${bookieId} is decommissioned after ${Math.round(performance.now() - beganMs)} ms`);
  }

  async #refill(bookie: ChaosBookie): Promise<void> {
    bookie.settings.dataIntegrityChecking = true;
    await bookie.node.start();
    this.#limbo = bookie;
    this.#log(`${bookie.bookieId} is there again with an empty disk, in limbo`);
  }

  /** Of the bookie that was refilled last. */
  async #isInLimbo(): Promise<boolean> {
    const bookie = this.#limbo;
    if (bookie === undefined) return false;
    try {
      const reply = await fetch(`http://127.0.0.1:${bookie.httpPort}/api/v1/bookie/status`, { signal: AbortSignal.timeout(2_000) });
      const { isLimbo } = (await reply.json()) as { isLimbo: boolean };
      if (isLimbo) return true;
    } catch {
      // It may be down just now.
      return true;
    }
    this.#log(`the limbo of ${bookie.bookieId} is over`);
    // The next time its disk is wiped it must refuse to start without its operator's word again.
    bookie.settings.dataIntegrityChecking = false;
    this.#limbo = undefined;
    return false;
  }

  /** Ledgers that nobody closed keep it in limbo where there is no spare: so only after all were recovered. */
  async #untilLimboIsOver(): Promise<void> {
    try {
      const ms = await until('limbo ends', wholeBoundMs, async () => !(await this.#isInLimbo()));
      if (ms > 1_000) this.#log(`... ${Math.round(ms)} ms after every ledger was closed and whole`);
    } catch (error) {
      this.result.problems.push(`${this.#limbo?.bookieId}: ${String(error)}`);
    }
  }

  async #check(calmMs: number): Promise<void> {
    const { result } = this;
    const { logFolder, bookies, writers, readers, autorecovery } = this.#cluster;
    for (const node of [...writers, ...readers]) await node.kill();
    Object.assign(result.faults, this.#nemesis.counts);
    await this.#untilWhole();
    result.wholeMs = Math.round(performance.now() - calmMs);
    this.#log(`all copies of what was closed are there after ${result.wholeMs} ms`);
    const ledgerIds = await this.#ledgerIds();
    result.ledgers = ledgerIds.length;
    const ends = await this.#recoverAll(ledgerIds);
    result.allWholeMs = Math.round(await this.#untilWhole());
    this.#log(
      `${result.recovered} of ${ledgerIds.length} ledgers were open: recovered in ${result.slowestRecoveryMs} ms at most; all copies are there after ${result.allWholeMs} ms`,
    );
    await this.#untilLimboIsOver();
    const acknowledged = acknowledgedIn(logFolder);
    for (const [ledgerId, last] of acknowledged) {
      const end = ends.get(ledgerId);
      if (end === undefined) result.problems.push(`ledger ${ledgerId} is gone`);
      else if (end < last) result.problems.push(`ledger ${ledgerId}: acknowledged up to ${last}, ends at ${end}`);
    }
    for (const { ledgerId, lastEntryId, by } of endsIn(logFolder)) {
      if (ends.get(ledgerId) !== lastEntryId)
        result.problems.push(`ledger ${ledgerId}: a ${by} saw it end at ${lastEntryId}, it ends at ${ends.get(ledgerId)}`);
    }
    await this.#compareAll(ledgerIds);
    result.problems.push(...complaintsIn(logFolder), ...this.#nemesis.problems);
    result.acknowledged = this.#acknowledged();
    result.entriesRead = entriesReadIn(logFolder);
    for (const node of [...bookies.map((bookie) => bookie.node), ...autorecovery, ...writers, ...readers]) result.problems.push(...node.crashes);
    this.#log(`writers: ${JSON.stringify(tallyOf(logFolder, 'writer'))}`);
    this.#log(`readers: ${JSON.stringify(tallyOf(logFolder, 'reader'))}`);
  }

  async #recoverAll(ledgerIds: readonly LedgerId[]): Promise<Map<number, number>> {
    const ends = new Map<number, number>();
    for (const ledgerId of ledgerIds) {
      const before = (await this.#view.records.read(ledgerId))?.metadata.state;
      const beganMs = performance.now();
      try {
        const reader = await this.#view.client.openWithRecovery(ledgerId, { password: chaosPassword });
        await reader.close();
      } catch (error) {
        this.result.problems.push(`ledger ${ledgerId} (${before}) cannot be recovered: ${String(error)}`);
        continue;
      }
      if (before !== 'CLOSED') {
        this.result.recovered++;
        this.result.slowestRecoveryMs = Math.max(this.result.slowestRecoveryMs, Math.round(performance.now() - beganMs));
      }
      const metadata = (await this.#view.records.read(ledgerId))?.metadata;
      if (metadata?.state !== 'CLOSED') this.result.problems.push(`ledger ${ledgerId} was recovered and is ${metadata?.state}`);
      else ends.set(ledgerId, metadata.lastEntryId);
    }
    return ends;
  }

  async #compareAll(ledgerIds: readonly LedgerId[]): Promise<void> {
    for (const ledgerId of ledgerIds) {
      const metadata = (await this.#view.records.read(ledgerId))?.metadata;
      if (metadata === undefined) continue;
      const { problems, copies } = await this.#copies.compare(ledgerId, metadata);
      this.result.problems.push(...problems);
      this.result.copiesCompared += copies;
    }
  }
}
