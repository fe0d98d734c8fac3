import { type LedgerId, ledgerId } from '@daybook/proto';
import { metadataErrors } from './errors.js';
import type { MetadataStore } from './metadata-store.js';
import { paths, sequenceOfPath } from './paths.js';

/** Ids of the 2-4-4 tree end here; from then on they come from the long generator. */
const shortIdMax = 2_147_483_646;

/**
 * New ledger ids, made as BookKeeper makes them: the number of an ephemeral sequential key, which is removed at once. The counter is the store's own, so that an
 * id is never handed out twice whatever crashes; an id whose answer was lost is simply skipped. When 31 bits are used up, keys below `idgen-long/HOB-n` go on:
 * id = n * 2^32 + number.
 */
export class LedgerIds {
  readonly #store: MetadataStore;
  #isShortUsedUp = false;

  constructor(store: MetadataStore) {
    this.#store = store;
  }

  async next(): Promise<LedgerId> {
    if (!this.#isShortUsedUp) {
      const id = await this.#draw(paths.ledgerIds);
      if (id !== undefined && id <= shortIdMax) return ledgerId(id);
      this.#isShortUsedUp = true;
    }
    return this.#nextLong();
  }

  async #nextLong(): Promise<LedgerId> {
    for (;;) {
      const names = (await this.#store.children(paths.longLedgerIds)).filter((name) => /^HOB-\d{10}$/.test(name));
      const highBits = Number(names.at(-1)?.slice('HOB-'.length) ?? 1);
      const low = await this.#draw(`${paths.longLedgerIdsFrom(highBits)}/ID-`);
      if (low !== undefined) return ledgerId(BigInt(highBits) * 2n ** 32n + BigInt(low));
      await this.#begin(highBits + 1);
    }
  }

  async #begin(highBits: number): Promise<void> {
    try {
      await this.#store.put(paths.longLedgerIdsFrom(highBits), Buffer.alloc(0), 'absent');
    } catch (error) {
      if (!metadataErrors.EXISTS.is(error)) throw error;
    }
  }

  async #draw(prefix: string): Promise<number | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        const { path } = await this.#store.put(prefix, Buffer.alloc(0), 'absent', { ephemeral: true, sequential: true });
        // Nobody waits for it: if it fails, the key goes with the session.
        this.#store.delete(path, 'any').catch(() => undefined);
        return sequenceOfPath(path, prefix);
      } catch (error) {
        // The number of a lost answer is never used; another one is as good.
        if (!metadataErrors.UNAVAILABLE.is(error) || attempt >= attemptsMax) throw error;
      }
    }
  }
}

const attemptsMax = 3;
