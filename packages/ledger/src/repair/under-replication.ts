import { type MetadataStore, metadataErrors, paths, type RepairLock, type RepairLocks, type Watch } from '@daybook/metadata';
import { type BookieId, type LedgerId, ledgerId } from '@daybook/proto';
import { type Clock, type Random, shuffled } from '@daybook/runtime';
import { repairErrors } from './errors.js';
import { decodeMark, encodeMark, repairLayout, type UnderReplicatedMark } from './repair-format.js';

export interface MarkedLedger {
  ledgerId: LedgerId;
  mark: UnderReplicatedMark;
  /** Of the mark; it rises whenever somebody finds something (new) to repair. */
  version: number;
}

/** A marked ledger whose lock is ours. */
export interface RepairWork extends MarkedLedger {
  lock: RepairLock;
}

export interface UnderReplicationOptions {
  store: MetadataStore;
  clock: Clock;
  random: Random;
  locks: RepairLocks;
}

const attemptsMax = 20;
const noBytes = Buffer.alloc(0);

/** The list of ledgers that need a look, shared by all auditors, workers and tools of a cluster. */
export class UnderReplication {
  readonly #store: MetadataStore;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly locks: RepairLocks;

  constructor({ store, clock, random, locks }: UnderReplicationOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
    this.locks = locks;
  }

  /** Makes what is needed, once; rejects with `REPAIR_UNKNOWN_LAYOUT` when another kind of list is there. */
  async prepare(): Promise<void> {
    const found = await this.#store.get(paths.underreplicationLayout);
    if (found === undefined) await this.#ensure(paths.underreplicationLayout, Buffer.from(repairLayout));
    else if (found.value.toString() !== repairLayout) throw repairErrors.UNKNOWN_LAYOUT(found.value.toString().replaceAll('\n', ' ').slice(0, 200));
    await this.#ensure(paths.underreplicatedLedgers, noBytes);
    await this.#ensure(paths.replicationLocks, noBytes);
  }

  /**
   * Adds these bookies to the ledger's mark. The mark gets a new version in any case, so that a worker which has just found the ledger whole does not take
   * away what was seen after it looked.
   */
  async mark(id: LedgerId, bookies: readonly BookieId[], why: { isDamaged?: boolean; isMisplaced?: boolean } = {}): Promise<void> {
    const path = paths.underreplicatedLedger(id);
    for (let attempt = 1; ; attempt++) {
      try {
        const found = await this.#store.get(path);
        const before = found && decodeMark(found.value);
        const replicas = [...new Set([...(before?.replicas ?? []), ...bookies])];
        const isDamaged = why.isDamaged === true || before?.isDamaged === true;
        const isMisplaced = why.isMisplaced === true || before?.isMisplaced === true;
        const value = encodeMark({ replicas, markedAtMs: this.#clock.wallMs(), isDamaged, isMisplaced });
        await this.#store.put(path, value, found?.version ?? 'absent');
        return;
      } catch (error) {
        const isConflict = metadataErrors.EXISTS.is(error) || metadataErrors.BAD_VERSION.is(error);
        // A mark that is made twice does no harm.
        if ((!isConflict && !metadataErrors.UNAVAILABLE.is(error)) || attempt >= attemptsMax) throw error;
        if (metadataErrors.UNAVAILABLE.is(error)) await this.#clock.sleep(retryMs);
      }
    }
  }

  async read(id: LedgerId): Promise<MarkedLedger | undefined> {
    const found = await this.#store.get(paths.underreplicatedLedger(id));
    return found && { ledgerId: id, mark: decodeMark(found.value), version: found.version };
  }

  /** Ids of all marked ledgers, ascending. Complete, or it throws. */
  async *list(): AsyncGenerator<LedgerId> {
    for await (const { id, folder } of this.#walk((names) => names)) if ((await this.#store.children(folder)).length > 0) yield id;
  }

  /** How many there are, about: a mark that is being removed may count. */
  async count(): Promise<number> {
    let count = 0;
    for await (const _ of this.#walk((names) => names)) count++;
    return count;
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#store.children(paths.underreplicatedLedgers)).length === 0;
  }

  /** Some marked ledger, with its lock; undefined when there is none that is free. */
  async take(isSkipped: (id: LedgerId) => boolean = () => false): Promise<RepairWork | undefined> {
    const locked = await this.locks.lockedLedgers();
    for await (const { id } of this.#walk((names) => shuffled(this.#random, names))) {
      if (isSkipped(id) || locked.has(BigInt(id))) continue;
      const lock = await this.locks.tryLock(id);
      const work = lock && (await this.#underLock(lock));
      if (work !== undefined) return work;
    }
    return undefined;
  }

  /**
   * The ledger was found whole: its mark goes, unless somebody has added to it since it was read (then false, and it stays). The lock is not released.
   */
  async done({ ledgerId: id, version }: MarkedLedger): Promise<boolean> {
    try {
      await this.#store.delete(paths.underreplicatedLedger(id), version);
    } catch (error) {
      if (metadataErrors.BAD_VERSION.is(error)) return false;
      if (!metadataErrors.NOT_FOUND.is(error)) throw error;
    }
    await this.#tidyUp(id);
    return true;
  }

  /** Calls soon after the first mark after none, and at other times. */
  watch(listener: () => void): Watch {
    return this.#store.watch(paths.underreplicatedLedgers, listener);
  }

  /** What was seen before the lock was taken may be old: another worker may have repaired the ledger, and somebody may have marked it again since. */
  async #underLock(lock: RepairLock): Promise<RepairWork | undefined> {
    let marked: MarkedLedger | undefined;
    try {
      marked = await this.read(lock.ledgerId);
      if (marked === undefined) await this.#tidyUp(lock.ledgerId);
    } finally {
      if (marked === undefined) await lock.release();
    }
    return marked && { ...marked, lock };
  }

  /** The keys right above marks. They tell the id already, so that a look at a long list takes one request per 65,536 ids, and not one per ledger. */
  async *#walk(order: (names: string[]) => string[]): AsyncGenerator<{ id: LedgerId; folder: string }> {
    const root = paths.underreplicatedLedgers;
    const below = async (path: string) => order((await this.#store.children(path)).filter((name) => /^[0-9a-f]{4}$/.test(name)));
    for (const first of await below(root)) {
      for (const second of await below(`${root}/${first}`)) {
        for (const third of await below(`${root}/${first}/${second}`)) {
          for (const fourth of await below(`${root}/${first}/${second}/${third}`)) {
            const id = BigInt(`0x${first}${second}${third}${fourth}`);
            // Daybook has no ledgers beyond 2^53.
            if (id <= BigInt(Number.MAX_SAFE_INTEGER)) yield { id: ledgerId(id), folder: `${root}/${first}/${second}/${third}/${fourth}` };
          }
        }
      }
    }
  }

  /** Takes away the empty keys above a mark; whoever puts another mark there makes them again. */
  async #tidyUp(id: LedgerId): Promise<void> {
    let path = paths.underreplicatedLedger(id);
    try {
      for (let level = 0; level < levels; level++) {
        path = path.slice(0, path.lastIndexOf('/'));
        await this.#store.delete(path, 'any');
      }
    } catch (error) {
      const isExpected = [metadataErrors.NOT_EMPTY, metadataErrors.NOT_FOUND, metadataErrors.UNAVAILABLE].some((expected) => expected.is(error));
      if (!isExpected) throw error;
    }
  }

  async #ensure(path: string, value: Buffer): Promise<void> {
    try {
      if ((await this.#store.get(path)) === undefined) await this.#store.put(path, value, 'absent');
    } catch (error) {
      if (!metadataErrors.EXISTS.is(error)) throw error;
    }
  }
}

/** Hex groups of a ledger id between the list and a mark. */
const levels = 4;
const retryMs = 100;
