import { strict as assert } from 'node:assert';
import type { BookieCode, EntryId, LedgerId } from '@daybook/proto';
import { type BatchOptions, entryOf, testKey } from './batches.js';
import { appended, type SimBookie } from './sim-bookie.js';

interface LedgerModel {
  /** Bytes of the payload by entry id: what was acknowledged. */
  acknowledged: Map<number, number>;
  /** Sent, and not answered OK: may be there or not. */
  possible: Map<number, number>;
  isFenced: boolean;
  mayBeFenced: boolean;
  /** Gone from metadata: what the bookie still holds of it is its own affair. */
  isDeleted: boolean;
}

/** What a bookie must and may hold, seen from outside. */
export class BookieModel {
  readonly #ledgers = new Map<number, LedgerModel>();
  readonly #entries = new Map<string, Buffer>();
  /** Bits were flipped, or a disk fails: some of it may not be readable; but never may it be said not to be there. */
  mayBeUnreadable = false;

  /** Appends and notes the outcome when there is one. */
  append(sim: SimBookie, options: BatchOptions): Promise<void> {
    return this.#append(sim, options).then(() => undefined);
  }

  /** Copies entries that are on other bookies; resolves to the answer. */
  recover(sim: SimBookie, options: BatchOptions): Promise<BookieCode> {
    return this.#append(sim, { ...options, isRecovery: true });
  }

  #append(sim: SimBookie, options: BatchOptions): Promise<BookieCode> {
    const ledger = this.#ledger(options.ledger);
    const wasFenced = ledger.isFenced && !options.isRecovery;
    const ids = Array.from({ length: options.count }, (_, i) => options.first + i * (options.step ?? 1));
    for (const id of ids) if (!ledger.acknowledged.has(id)) ledger.possible.set(id, options.bytes ?? 40);
    return appended(sim.service, options).then((code) => {
      if (wasFenced) assert.notEqual(code, 'OK', `an append to fenced ledger ${options.ledger}`);
      if (code !== 'OK') return code;
      for (const id of ids) {
        ledger.acknowledged.set(id, options.bytes ?? 40);
        ledger.possible.delete(id);
      }
      return code;
    });
  }

  async fence(sim: SimBookie, ledgerId: number): Promise<void> {
    const ledger = this.#ledger(ledgerId);
    ledger.mayBeFenced = true;
    const acknowledged = Math.max(-1, ...ledger.acknowledged.keys());
    const reply = await sim.service.fence({ ledgerId: ledgerId as LedgerId, masterKey: testKey });
    if (reply.code !== 'OK' && reply.code !== 'NO_ENTRY' && reply.code !== 'NO_LEDGER') return;
    ledger.isFenced = true;
    // With a log that cannot be read, an older entry is the newest known: those who ask go on from there, and meet the damage.
    if (acknowledged < 0 || ledger.isDeleted || this.mayBeUnreadable) return;
    assert.equal(reply.code, 'OK', 'a fence answers with the last entry');
    assert.ok(
      Number((reply.lastEntry as Buffer).readBigInt64BE(8)) >= acknowledged,
      'a fence answers with an entry at or after the last acknowledged one',
    );
  }

  /** Reads some entries now; while other things go on. */
  async read(sim: SimBookie, ledgerId: number, first: number, count: number): Promise<void> {
    const ledger = this.#ledger(ledgerId);
    const mustBeThere = ledger.acknowledged.has(first);
    // The disk may be mended, and the process gone, when its answer is looked at.
    const unreadable = this.#unreadable;
    const { bookie } = sim;
    const entryIds = Array.from({ length: count }, (_, i) => (first + i) as EntryId);
    const reply = await sim.service.read({ ledgerId: ledgerId as LedgerId, entryIds, bytesMax: 1500 });
    if (mustBeThere && !ledger.isDeleted) {
      const codes = ['OK', 'UNAVAILABLE', unreadable, bookie?.state === 'failed' ? 'IO_ERROR' : this.#unreadable];
      assert.ok(codes.includes(reply.code), `acknowledged entry ${first} of ledger ${ledgerId}: ${reply.code}`);
    }
    for (const [i, entry] of reply.entries.entries()) this.#checkEntry(ledgerId, first + i, entry);
  }

  /** Checks everything there is; the bookie runs and nothing else goes on. */
  verify(sim: SimBookie): Promise<void> {
    return sim.queue.complete(this.#verifyAll(sim));
  }

  async #verifyAll(sim: SimBookie): Promise<void> {
    for (const [ledgerId, ledger] of this.#ledgers) {
      const found = await this.#verifyEntries(sim, ledgerId, ledger);
      // Of a deleted one the rest may go at any moment.
      if (!ledger.isDeleted) await this.#verifyLists(sim, ledgerId, found);
    }
    await this.#verifyFences(sim);
  }

  /** Asks for one, two, four or eight at a time; resolves to those that are there. */
  async #verifyEntries(sim: SimBookie, ledgerId: number, ledger: LedgerModel): Promise<number[]> {
    const ids = [...ledger.acknowledged.keys(), ...ledger.possible.keys()].sort((a, b) => a - b);
    const found: number[] = [];
    for (let next = 0, round = 0; next < ids.length; round++) {
      const id = ids[next] as number;
      const asked = ids.slice(next, next + (1 << (round % 4)));
      const reply = await sim.service.read({ ledgerId: ledgerId as LedgerId, entryIds: asked as EntryId[], bytesMax: 1 << 20 });
      const isSure = ledger.acknowledged.has(id) && !ledger.isDeleted;
      const codes = isSure ? ['OK', this.#unreadable] : ['OK', 'NO_ENTRY', 'NO_LEDGER', this.#unreadable];
      assert.ok(codes.includes(reply.code), `${isSure ? 'acknowledged ' : ''}entry ${id} of ledger ${ledgerId}: ${reply.code}`);
      if (reply.code === 'OK') assert.ok(reply.entries.length > 0, `an answer without entry ${id} of ledger ${ledgerId}`);
      for (const [place, entry] of reply.entries.entries()) {
        this.#checkEntry(ledgerId, asked[place] as number, entry);
        found.push(asked[place] as number);
      }
      next += Math.max(1, reply.entries.length);
    }
    return found;
  }

  /** The ledger is gone from metadata, or belongs to other bookies. */
  delete(ledgerId: number): void {
    this.#ledger(ledgerId).isDeleted = true;
  }

  /** These entries of it were copied here again, and the cluster counts on them. */
  bringBack(ledgerId: number, entries: ReadonlyMap<number, number>): void {
    const ledger = this.#ledger(ledgerId);
    ledger.isDeleted = false;
    for (const [id, bytes] of ledger.acknowledged) ledger.possible.set(id, bytes);
    ledger.acknowledged = new Map(entries);
    for (const id of entries.keys()) ledger.possible.delete(id);
  }

  /** What was acknowledged of a ledger: entry ids, and the bytes of their payloads. */
  acknowledged(ledgerId: number): ReadonlyMap<number, number> {
    return this.#ledger(ledgerId).acknowledged;
  }

  /** Every deleted ledger is unknown, after garbage collection. */
  verifyDeleted(sim: SimBookie): Promise<void> {
    const verify = async (): Promise<void> => {
      for (const [ledgerId, ledger] of this.#ledgers) {
        if (!ledger.isDeleted) continue;
        assert.equal((await sim.service.listEntries(ledgerId as LedgerId)).code, 'NO_LEDGER', `ledger ${ledgerId} is gone`);
      }
    };
    return sim.queue.complete(verify());
  }

  /** Bytes of entries of ledgers that exist, without any overhead. */
  get liveBytes(): number {
    let sum = 0;
    for (const { isDeleted, acknowledged, possible } of this.#ledgers.values()) {
      if (!isDeleted) for (const bytes of [...acknowledged.values(), ...possible.values()]) sum += bytes;
    }
    return sum;
  }

  get #unreadable(): string {
    return this.mayBeUnreadable ? 'IO_ERROR' : 'OK';
  }

  #ledger(ledgerId: number): LedgerModel {
    let ledger = this.#ledgers.get(ledgerId);
    if (ledger === undefined) {
      ledger = { acknowledged: new Map(), possible: new Map(), isFenced: false, mayBeFenced: false, isDeleted: false };
      this.#ledgers.set(ledgerId, ledger);
    }
    return ledger;
  }

  #checkEntry(ledgerId: number, entryId: number, entry: Buffer): void {
    const { acknowledged, possible } = this.#ledger(ledgerId);
    const bytes = acknowledged.get(entryId) ?? possible.get(entryId);
    assert.ok(bytes !== undefined, `entry ${entryId} of ledger ${ledgerId} was never sent`);
    assert.ok(entry.equals(this.#expected(ledgerId, entryId, bytes)), `entry ${entryId} of ledger ${ledgerId} is what was sent`);
  }

  /** Made once: each restart compares everything again. */
  #expected(ledgerId: number, entryId: number, bytes: number): Buffer {
    const key = `${ledgerId}/${entryId}/${bytes}`;
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = entryOf(ledgerId, entryId, bytes);
      this.#entries.set(key, entry);
    }
    return entry;
  }

  async #verifyLists(sim: SimBookie, ledgerId: number, found: readonly number[]): Promise<void> {
    const listed = await sim.service.listEntries(ledgerId as LedgerId);
    if (this.mayBeUnreadable && listed.code === 'IO_ERROR') return;
    const ids = listed.runs.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
    // Everything acknowledged, and of the rest what can be read and would outlast a crash.
    const { acknowledged } = this.#ledger(ledgerId);
    const listedIds = new Set<number>(ids);
    const foundIds = new Set(found);
    for (const id of found) if (acknowledged.has(id)) assert.ok(listedIds.has(id), `the list of ledger ${ledgerId} has ${id}`);
    // A list comes from the indexes: what is damaged in a log is in it.
    if (!this.mayBeUnreadable) for (const id of ids) assert.ok(foundIds.has(id), `${id} in the list of ledger ${ledgerId} can be read`);
    const lac = await sim.service.readLac(ledgerId as LedgerId);
    if (this.mayBeUnreadable && lac.code === 'IO_ERROR') return;
    if (this.mayBeUnreadable && lac.code === 'OK') this.#checkMended(ledgerId, found.at(-1) ?? -1, lac.lastEntry as Buffer);
    else if (found.length === 0) assert.ok(['NO_ENTRY', 'NO_LEDGER'].includes(lac.code), `last entry of ledger ${ledgerId}: ${lac.code}`);
    else this.#checkEntry(ledgerId, found.at(-1) as number, lac.lastEntry as Buffer);
  }

  /** What could not be read a moment ago may be there by now: an index was made anew. */
  #checkMended(ledgerId: number, lastFound: number, lastEntry: Buffer): void {
    const entryId = Number(lastEntry.readBigInt64BE(8));
    assert.ok(entryId >= lastFound, `last entry of ledger ${ledgerId}: ${entryId}, but ${lastFound} was read before`);
    this.#checkEntry(ledgerId, entryId, lastEntry);
  }

  async #verifyFences(sim: SimBookie): Promise<void> {
    for (const [ledgerId, ledger] of this.#ledgers) {
      if (!ledger.isFenced) continue;
      const code = await appended(sim.service, { ledger: ledgerId, first: 1_000_000, count: 1 });
      assert.equal(code, 'FENCED', `ledger ${ledgerId} stays fenced, deleted or not`);
    }
  }
}
