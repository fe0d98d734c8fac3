import type { LedgerWriter } from '@daybook/ledger';
import { type BookieService, createDigest, decodeEntry, type EntryId, type LedgerId } from '@daybook/proto';
import { contentOf } from './contents.js';
import type { View } from './lose-bookie.js';
import { pause } from './processes.js';

/** What a load knows of a ledger it wrote. */
export interface WrittenLedger {
  ledgerId: LedgerId;
  pushed: number;
  /** Highest id that was acknowledged, -1 for none. */
  acknowledged: number;
  isClosed: boolean;
  isDeleted: boolean;
  /** Not to be deleted by the load. */
  isKept: boolean;
  /** Not acknowledged when the bookie was killed: sent once more afterwards, so that a bookie may well have written them twice. */
  sentAgain: number;
}

const password = Buffer.from('chaos');
const digest = createDigest('CRC32C', password);
const unansweredMax = 100;
/** Of the ledgers that come and go, so many are there at a time. */
const liveMax = 8;

/**
 * Appends, reads and deletes on one bookie through the ledger client: writers whose ledgers are deleted soon, one whose ledgers stay, so that entry logs get
 * sparse, and a reader that compares every byte.
 */
export class BookieLoad {
  readonly ledgers: WrittenLedger[] = [];
  readonly problems: string[] = [];
  acknowledgedCount = 0;
  readCount = 0;
  deletedCount = 0;
  failedWritersCount = 0;
  readonly #view: View;
  readonly #random: () => number;
  readonly #tasks: Promise<void>[];
  #isStopped = false;

  constructor(view: View, random: () => number) {
    this.#view = view;
    this.#random = random;
    this.#tasks = [this.#write(false), this.#write(false), this.#write(false), this.#write(true), this.#read(), this.#delete()];
  }

  get existing(): WrittenLedger[] {
    return this.ledgers.filter(({ isDeleted }) => !isDeleted);
  }

  noteKill(): void {
    for (const ledger of this.existing) ledger.sentAgain += ledger.pushed - 1 - ledger.acknowledged;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#tasks);
  }

  async delete(ledger: WrittenLedger): Promise<void> {
    ledger.isDeleted = true;
    this.deletedCount++;
    await this.#view.client.delete(ledger.ledgerId);
  }

  async #write(isKept: boolean): Promise<void> {
    while (!this.#isStopped) {
      let writer: LedgerWriter;
      try {
        writer = await this.#view.client.create({ ensembleSize: 1, writeQuorumSize: 1, ackQuorumSize: 1, password });
      } catch {
        // The bookie is away.
        await pause(50);
        continue;
      }
      const ledger: WrittenLedger = {
        ledgerId: writer.ledgerId,
        pushed: 0,
        acknowledged: -1,
        isClosed: false,
        isDeleted: false,
        isKept,
        sentAgain: 0,
      };
      this.ledgers.push(ledger);
      await this.#fill(writer, ledger);
    }
  }

  async #fill(writer: LedgerWriter, ledger: WrittenLedger): Promise<void> {
    let isFailed = false;
    writer.listen({
      confirmed: (lastAddConfirmed) => {
        this.acknowledgedCount += lastAddConfirmed - ledger.acknowledged;
        ledger.acknowledged = lastAddConfirmed;
      },
      failed: () => {
        isFailed = true;
        this.failedWritersCount++;
      },
    });
    const count = ledger.isKept ? 60 : 100 + Math.floor(this.#random() * 700);
    while (!this.#isStopped && !isFailed && ledger.pushed < count) {
      while (!isFailed && ledger.pushed < count && ledger.pushed - 1 - ledger.acknowledged < unansweredMax && !writer.isFull) {
        writer.push(contentOf(ledger.ledgerId, ledger.pushed));
        ledger.pushed++;
        if (ledger.isKept) break;
      }
      await pause(ledger.isKept ? 8 : 5);
    }
    while (!isFailed && ledger.acknowledged < ledger.pushed - 1) await pause(5);
    if (isFailed) return;
    await writer.close();
    ledger.isClosed = true;
  }

  /** The oldest go first, but now and then a young one. */
  async #delete(): Promise<void> {
    while (!this.#isStopped) {
      await pause(20);
      const passing = this.existing.filter(({ isKept, isClosed }) => !isKept && isClosed);
      const kept = this.existing.filter(({ isKept }) => isKept);
      if (passing.length > liveMax) await this.#deleteUnlessAway(passing[this.#random() < 0.7 ? 0 : passing.length - 1] as WrittenLedger);
      if (kept.length > 60) await this.#deleteUnlessAway(kept[0] as WrittenLedger);
    }
  }

  async #deleteUnlessAway(ledger: WrittenLedger): Promise<void> {
    try {
      await this.delete(ledger);
    } catch (error) {
      this.problems.push(`ledger ${ledger.ledgerId} could not be deleted: ${String(error)}`);
    }
  }

  async #read(): Promise<void> {
    while (!this.#isStopped) {
      await pause(10);
      const candidates = this.existing.filter(({ acknowledged }) => acknowledged >= 0);
      const ledger = candidates[Math.floor(this.#random() * candidates.length)];
      if (ledger === undefined) continue;
      const first = Math.floor(this.#random() * (ledger.acknowledged + 1));
      const last = Math.min(ledger.acknowledged, first + 20);
      const service = this.#service();
      if (service !== undefined) this.problems.push(...(await this.#compare(service, ledger, { first, last, mayBeAway: true })));
    }
  }

  /** Every entry acknowledged until now is there, byte for byte, without holes, and nothing that was never written is. */
  async check(): Promise<string[]> {
    const problems: string[] = [];
    for (const ledger of this.existing) {
      const last = ledger.acknowledged;
      const service = this.#service();
      if (service === undefined) return ['the bookie is not registered'];
      problems.push(...(await this.#compare(service, ledger, { first: 0, last, mayBeAway: false })));
      const { code, runs } = await service.listEntries(ledger.ledgerId);
      if (ledger.isDeleted || last < 0) continue;
      const [run] = runs;
      const isWhole = code === 'OK' && runs.length === 1 && run?.first === 0 && run.last >= last && run.last < ledger.pushed;
      if (!isWhole)
        problems.push(`ledger ${ledger.ledgerId}: acknowledged up to ${last} of ${ledger.pushed}, listed are ${JSON.stringify(runs)} (${code})`);
    }
    return problems;
  }

  #service(): BookieService | undefined {
    const [bookie] = this.#view.registry.list();
    return bookie === undefined ? undefined : this.#view.pool.get(bookie.bookieId)?.service;
  }

  async #compare(
    service: BookieService,
    ledger: WrittenLedger,
    { first, last, mayBeAway }: { first: number; last: number; mayBeAway: boolean },
  ): Promise<string[]> {
    for (let next = first; next <= last; ) {
      const entryIds = Array.from({ length: Math.min(500, last - next + 1) }, (_, i) => (next + i) as EntryId);
      const { code, entries } = await service.read({ ledgerId: ledger.ledgerId, entryIds, bytesMax: 1 << 20 });
      if (ledger.isDeleted || (mayBeAway && (code === 'UNAVAILABLE' || code === 'TIMEOUT'))) return [];
      if (code !== 'OK') return [`ledger ${ledger.ledgerId}: entry ${next} of ${ledger.acknowledged} acknowledged ones answers ${code}`];
      for (const bytes of entries) {
        const { payload } = decodeEntry(bytes, digest, ledger.ledgerId, next as EntryId);
        if (!payload.equals(contentOf(ledger.ledgerId, next))) return [`ledger ${ledger.ledgerId}: entry ${next} has other bytes`];
        next++;
        this.readCount++;
      }
    }
    return [];
  }
}
