import { type MetadataStore, metadataErrors, paths } from '@daybook/metadata';
import { journalErrors } from './errors.js';
import {
  decodeCurrentInProgress,
  decodeJournalSegment,
  decodeMaxTxId,
  encodeCurrentInProgress,
  encodeJournalSegment,
  type JournalSegment,
} from './journal-records.js';

/** A segment as it lies in the store. */
export interface StoredSegment {
  readonly path: string;
  readonly version: number;
  readonly segment: JournalSegment;
}

const unknownMax = 3;
const inProgressPrefix = 'inprogress_';

/** The keys of one journal, each read and changed as `BookKeeperJournalManager` does. A write whose answer is lost is looked up and, where it did not happen, done again. */
export class JournalMetadata {
  readonly name: string;
  readonly keys: ReturnType<typeof paths.journal>;
  readonly #store: MetadataStore;

  constructor(store: MetadataStore, name: string) {
    this.#store = store;
    this.name = name;
    this.keys = paths.journal(name);
  }

  async readVersion(): Promise<string | undefined> {
    return (await this.#store.get(this.keys.version))?.value.toString();
  }

  async exists(): Promise<boolean> {
    return (await this.#store.get(this.keys.root)) !== undefined;
  }

  /** The first key to go, and the last to come: without it the journal is not formatted. */
  async removeVersion(): Promise<void> {
    await this.remove(this.keys.version, 'any');
  }

  async writeVersion(text: string): Promise<void> {
    await this.#put(this.keys.segments, '', 'any');
    await this.#put(this.keys.version, text, 'any');
  }

  async removeRest(): Promise<void> {
    await this.remove(this.keys.maxTxId, 'any');
    await this.remove(this.keys.currentInProgress, 'any');
  }

  /** Sorted by first transaction id, a finalized one before the leftover of the same in progress. One that vanishes meanwhile may be in it or not. */
  async segments({ inProgress }: { inProgress: boolean }): Promise<StoredSegment[]> {
    const names = await this.#store.children(this.keys.segments);
    const found = await Promise.all(
      names.filter((name) => inProgress || !name.startsWith(inProgressPrefix)).map((name) => this.readSegment(`${this.keys.segments}/${name}`)),
    );
    const segments = found.filter((segment) => segment !== undefined);
    const isOpen = ({ segment }: StoredSegment) => (segment.lastTxId === undefined ? 1 : 0);
    return segments.sort((a, b) => a.segment.firstTxId - b.segment.firstTxId || isOpen(a) - isOpen(b));
  }

  async readSegment(path: string): Promise<StoredSegment | undefined> {
    const found = await this.#store.get(path);
    return found && { path, version: found.version, segment: decodeJournalSegment(found.value.toString(), path) };
  }

  /** False when there is another one at that path. */
  async createSegment(path: string, segment: JournalSegment): Promise<boolean> {
    try {
      await this.#put(path, encodeJournalSegment(segment), 'absent');
      return true;
    } catch (error) {
      if (!metadataErrors.EXISTS.is(error)) throw error;
      const found = await this.readSegment(path);
      return found !== undefined && encodeJournalSegment(found.segment) === encodeJournalSegment(segment);
    }
  }

  /** A missing one is fine; `JOURNAL_TAKEN_OVER` when it changed. */
  async remove(path: string, version: number | 'any'): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#store.delete(path, version);
        return;
      } catch (error) {
        if (metadataErrors.NOT_FOUND.is(error)) return;
        if (metadataErrors.BAD_VERSION.is(error)) throw journalErrors.TAKEN_OVER(this.name, { cause: error });
        if (!metadataErrors.UNAVAILABLE.is(error) || attempt >= unknownMax) throw error;
      }
    }
  }

  /** 0 when there was none. */
  async maxTxId(): Promise<number> {
    return (await this.#readMaxTxId()).value;
  }

  /** Never lowers it. */
  async raiseMaxTxId(txId: number): Promise<void> {
    await this.#changeMaxTxId((current) => Math.max(current, txId));
  }

  /** The transaction never happened. */
  async lowerMaxTxId(from: number): Promise<void> {
    await this.#changeMaxTxId((current) => (current === from ? from - 1 : current));
  }

  /** The segment that is said to be in progress, with the version that a change must name. */
  async readCurrent(): Promise<{ path: string | undefined; version: number | 'absent' }> {
    const found = await this.#store.get(this.keys.currentInProgress);
    if (found === undefined) return { path: undefined, version: 'absent' };
    return { path: decodeCurrentInProgress(found.value.toString(), this.keys.currentInProgress), version: found.version };
  }

  /** Rejects with `JOURNAL_TAKEN_OVER` when somebody changed it since. */
  async writeCurrent(path: string | undefined, host: string, version: number | 'absent'): Promise<void> {
    try {
      await this.#put(this.keys.currentInProgress, path === undefined ? '' : encodeCurrentInProgress(path, host), version);
    } catch (error) {
      if (metadataErrors.BAD_VERSION.is(error) || metadataErrors.EXISTS.is(error)) throw journalErrors.TAKEN_OVER(this.name, { cause: error });
      throw error;
    }
  }

  async clearCurrent(path: string): Promise<void> {
    const current = await this.readCurrent();
    if (current.path === path) await this.writeCurrent(undefined, '', current.version);
  }

  async #readMaxTxId(): Promise<{ value: number; version: number | 'absent' }> {
    const found = await this.#store.get(this.keys.maxTxId);
    if (found === undefined) return { value: 0, version: 'absent' };
    return { value: decodeMaxTxId(found.value.toString(), this.keys.maxTxId), version: found.version };
  }

  async #changeMaxTxId(change: (current: number) => number): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { value, version } = await this.#readMaxTxId();
      const changed = change(value);
      if (changed === value) return;
      try {
        await this.#put(this.keys.maxTxId, String(changed), version);
        return;
      } catch (error) {
        const isConflict = metadataErrors.BAD_VERSION.is(error) || metadataErrors.EXISTS.is(error);
        if (!isConflict || attempt >= unknownMax) throw error;
      }
    }
  }

  /** Where reading can tell, an unknown outcome is settled here. */
  async #put(path: string, text: string, expected: number | 'absent' | 'any'): Promise<void> {
    const value = Buffer.from(text);
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#store.put(path, value, expected);
        return;
      } catch (error) {
        if (!metadataErrors.UNAVAILABLE.is(error)) throw error;
        const found = await this.#store.get(path);
        const version = expected === 'absent' ? 0 : expected === 'any' ? found?.version : expected + 1;
        if (found !== undefined && found.version === version && found.value.equals(value)) return;
        if (attempt >= unknownMax) throw error;
      }
    }
  }
}
