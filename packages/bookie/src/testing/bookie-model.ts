import { strict as assert } from 'node:assert';
import type { EntryId, LedgerId } from '@daybook/proto';
import { type BatchOptions, entryOf, testKey } from './batches.js';
import { appended, type SimBookie } from './sim-bookie.js';

interface LedgerModel {
  /** Bytes of the payload by entry id: what was acknowledged. */
  acknowledged: Map<number, number>;
  /** Sent, and not answered OK: may be there or not. */
  possible: Map<number, number>;
  isFenced: boolean;
  mayBeFenced: boolean;
}

/** What a bookie must and may hold, seen from outside. */
export class BookieModel {
  readonly #ledgers = new Map<number, LedgerModel>();

  /** Appends and notes the outcome when there is one. */
  append(sim: SimBookie, options: BatchOptions): Promise<void> {
    const ledger = this.#ledger(options.ledger);
    const wasFenced = ledger.isFenced && !options.isRecovery;
    const ids = Array.from({ length: options.count }, (_, i) => options.first + i * (options.step ?? 1));
    for (const id of ids) if (!ledger.acknowledged.has(id)) ledger.possible.set(id, options.bytes ?? 40);
    return appended(sim.service, options).then((code) => {
      if (wasFenced) assert.notEqual(code, 'OK', `an append to fenced ledger ${options.ledger}`);
      if (code !== 'OK') return;
      for (const id of ids) {
        ledger.acknowledged.set(id, options.bytes ?? 40);
        ledger.possible.delete(id);
      }
    });
  }

  async fence(sim: SimBookie, ledgerId: number): Promise<void> {
    const ledger = this.#ledger(ledgerId);
    ledger.mayBeFenced = true;
    const acknowledged = Math.max(-1, ...ledger.acknowledged.keys());
    const reply = await sim.service.fence({ ledgerId: ledgerId as LedgerId, masterKey: testKey });
    if (reply.code !== 'OK' && reply.code !== 'NO_ENTRY') return;
    ledger.isFenced = true;
    if (acknowledged < 0) return;
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
    const entryIds = Array.from({ length: count }, (_, i) => (first + i) as EntryId);
    const reply = await sim.service.read({ ledgerId: ledgerId as LedgerId, entryIds, bytesMax: 1500 });
    if (mustBeThere)
      assert.ok(reply.code === 'OK' || reply.code === 'UNAVAILABLE', `acknowledged entry ${first} of ledger ${ledgerId}: ${reply.code}`);
    for (const [i, entry] of reply.entries.entries()) this.#checkEntry(ledgerId, first + i, entry);
  }

  /** Checks everything there is; the bookie runs and nothing else goes on. */
  async verify(sim: SimBookie): Promise<void> {
    for (const [ledgerId, ledger] of this.#ledgers) {
      const ids = [...ledger.acknowledged.keys(), ...ledger.possible.keys()].sort((a, b) => a - b);
      const found: number[] = [];
      for (const id of ids) {
        const reply = await sim.read(ledgerId, [id]);
        if (ledger.acknowledged.has(id)) assert.equal(reply.code, 'OK', `acknowledged entry ${id} of ledger ${ledgerId}`);
        else assert.ok(['OK', 'NO_ENTRY', 'NO_LEDGER'].includes(reply.code), `entry ${id} of ledger ${ledgerId}: ${reply.code}`);
        if (reply.code === 'OK') {
          this.#checkEntry(ledgerId, id, reply.entries[0] as Buffer);
          found.push(id);
        }
      }
      await this.#verifyLists(sim, ledgerId, found);
    }
    await this.#verifyFences(sim);
  }

  #ledger(ledgerId: number): LedgerModel {
    let ledger = this.#ledgers.get(ledgerId);
    if (ledger === undefined) {
      ledger = { acknowledged: new Map(), possible: new Map(), isFenced: false, mayBeFenced: false };
      this.#ledgers.set(ledgerId, ledger);
    }
    return ledger;
  }

  #checkEntry(ledgerId: number, entryId: number, entry: Buffer): void {
    const { acknowledged, possible } = this.#ledger(ledgerId);
    const bytes = acknowledged.get(entryId) ?? possible.get(entryId);
    assert.ok(bytes !== undefined, `entry ${entryId} of ledger ${ledgerId} was never sent`);
    assert.ok(entry.equals(entryOf(ledgerId, entryId, bytes)), `entry ${entryId} of ledger ${ledgerId} is what was sent`);
  }

  async #verifyLists(sim: SimBookie, ledgerId: number, found: readonly number[]): Promise<void> {
    const listed = await sim.list(ledgerId);
    const ids = listed.runs.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
    assert.deepEqual(ids, found, `the list of ledger ${ledgerId}`);
    const lac = await sim.readLac(ledgerId);
    if (found.length === 0) assert.ok(['NO_ENTRY', 'NO_LEDGER'].includes(lac.code), `last entry of ledger ${ledgerId}: ${lac.code}`);
    else this.#checkEntry(ledgerId, found.at(-1) as number, lac.lastEntry as Buffer);
  }

  async #verifyFences(sim: SimBookie): Promise<void> {
    for (const [ledgerId, ledger] of this.#ledgers) {
      if (!ledger.isFenced) continue;
      assert.equal(await sim.append({ ledger: ledgerId, first: 1_000_000, count: 1 }), 'FENCED', `ledger ${ledgerId} stays fenced`);
    }
  }
}
