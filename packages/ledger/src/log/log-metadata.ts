import { type MetadataStore, metadataErrors, paths, segmentSequenceOfPart, type Watch } from '@daybook/metadata';
import { Backoff, type Clock, type Random } from '@daybook/runtime';
import { logErrors } from './errors.js';
import { decodeHead, encodeHead, type LogHead, newHead } from './head-format.js';
import { type CompletedSegment, decodeSegment, encodeSegment, type LogSegment } from './segment-format.js';

export interface LogMetadataDependencies {
  store: MetadataStore;
  clock: Clock;
  random: Random;
}

/** A log's head and its segments, as they were at one moment. */
export interface LogSnapshot {
  readonly head: LogHead;
  /** Ascending; what was purged or dropped is not in it. */
  readonly segments: readonly LogSegment[];
}

const attemptsMax = 20;
/** How often something is begun again whose outcome is not known. */
const unknownMax = 3;
const readsAtOnce = 32;

/**
 * What the metadata store knows of one log. The head is changed by compare-and-set and decides: a segment is in progress while the head says so, and purged once it
 * is below the head's first. Keys of completed segments are written before the head lets go of them, and removed after.
 */
export class LogMetadata {
  readonly name: string;
  readonly #d: LogMetadataDependencies;
  readonly #keys: ReturnType<typeof paths.log>;

  constructor(dependencies: LogMetadataDependencies, name: string) {
    this.#d = dependencies;
    this.name = name;
    this.#keys = paths.log(name);
  }

  /** Rejects with `LOG_EXISTS`, also when only a part of an old log of that name is left: that must be deleted first. */
  async create(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#d.store.put(this.#keys.segments, encodeHead(newHead), 'absent');
        return;
      } catch (error) {
        if (metadataErrors.EXISTS.is(error)) throw logErrors.EXISTS(this.name, { cause: error });
        if (!metadataErrors.UNAVAILABLE.is(error) || attempt >= unknownMax) throw error;
      }
    }
  }

  /** Undefined when there is no such log. */
  async findHead(): Promise<{ head: LogHead; version: number } | undefined> {
    const found = await this.#d.store.get(this.#keys.segments);
    return found && { head: decodeHead(found.value, `the head of log "${this.name}"`), version: found.version };
  }

  /** Rejects with `LOG_NOT_FOUND`; a log that is being deleted is gone. */
  async readHead(): Promise<{ head: LogHead; version: number }> {
    const found = await this.findHead();
    if (found === undefined || found.head.state === 'deleting') throw logErrors.NOT_FOUND(this.name);
    return found;
  }

  /**
   * `transform` gives the new head, or undefined when nothing is to be changed; it may be called several times, also with a head that has the change already (its
   * answer had been lost), and throws to give up. Resolves with the head as it is then.
   */
  async update(transform: (head: LogHead) => LogHead | undefined): Promise<LogHead> {
    const { clock, random, store } = this.#d;
    const backoff = new Backoff({ random, delayMsMin: 2, delayMsMax: 200 });
    for (let attempt = 1, unknown = 0; ; attempt++) {
      const { head, version } = await this.readHead();
      const changed = transform(head);
      if (changed === undefined) return head;
      try {
        await store.put(this.#keys.segments, encodeHead(changed), version);
        return changed;
      } catch (error) {
        if (metadataErrors.UNAVAILABLE.is(error)) unknown++;
        else if (!metadataErrors.BAD_VERSION.is(error)) throw error;
        if (unknown >= unknownMax) throw error;
        if (attempt >= attemptsMax) throw logErrors.CONTENDED(this.name, { cause: error });
      }
      await clock.sleep(backoff.nextDelayMs());
    }
  }

  /** Head and segments of one moment; completed segments below `fromSequence` are left out. */
  async snapshot(fromSequence = 0): Promise<LogSnapshot> {
    const backoff = new Backoff({ random: this.#d.random, delayMsMin: 2, delayMsMax: 200 });
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const { head, version } = await this.readHead();
      const inProgress = new Set(head.inProgress.map((segment) => segment.sequence));
      const sequences = (await this.listCompleted()).filter(
        (sequence) => sequence >= Math.max(head.firstSequence, fromSequence) && !inProgress.has(sequence),
      );
      const completed = await this.#readAll(sequences);
      // A head that changed meanwhile: a segment may have been looked for in one place when it was in the other.
      if (completed !== undefined && (await this.readHead()).version === version) {
        const current = head.inProgress.filter((segment) => segment.status !== 'truncated');
        return { head, segments: [...completed, ...current].sort((a, b) => a.sequence - b.sequence) };
      }
      await this.#d.clock.sleep(backoff.nextDelayMs());
    }
    throw logErrors.CONTENDED(this.name);
  }

  /** Sequence numbers that have a key, ascending; also of purged segments whose keys are left. */
  async listCompleted(): Promise<number[]> {
    const names = await this.#d.store.children(this.#keys.segments);
    return names.map(segmentSequenceOfPart).filter((sequence) => sequence !== undefined);
  }

  async readCompleted(sequence: number): Promise<CompletedSegment | undefined> {
    return (await this.#find(sequence))?.segment;
  }

  /** Again is fine; a different segment under that number is not (`LOG_SEGMENT_LOST`). */
  async writeCompleted(segment: CompletedSegment): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#d.store.put(this.#keys.completedSegment(segment.sequence), Buffer.from(encodeSegment(segment)), 'absent');
        return;
      } catch (error) {
        if (!metadataErrors.EXISTS.is(error) && !metadataErrors.UNAVAILABLE.is(error)) throw error;
        const found = await this.readCompleted(segment.sequence);
        if (found !== undefined && isSameEnd(found, segment)) return;
        if (found !== undefined) {
          const why = `its key says ledger ${found.ledgerId} up to entry ${found.lastEntryId}, not up to ${segment.lastEntryId}`;
          throw logErrors.SEGMENT_LOST(this.name, segment.sequence, segment.ledgerId, why, { cause: error });
        }
        if (attempt >= unknownMax) throw error;
      }
    }
  }

  /** False when there is no such segment (any more). */
  async changeCompleted(sequence: number, transform: (segment: CompletedSegment) => CompletedSegment | undefined): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      const found = await this.#find(sequence);
      if (found === undefined) return false;
      const changed = transform(found.segment);
      if (changed === undefined) return true;
      try {
        await this.#d.store.put(this.#keys.completedSegment(sequence), Buffer.from(encodeSegment(changed)), found.version);
        return true;
      } catch (error) {
        if (!metadataErrors.BAD_VERSION.is(error) && !metadataErrors.UNAVAILABLE.is(error)) throw error;
        if (attempt >= unknownMax) throw error;
      }
    }
  }

  async removeCompleted(sequence: number): Promise<void> {
    await this.#remove(this.#keys.completedSegment(sequence));
  }

  /** The last steps of deleting: nothing else is left. */
  async removeHead(): Promise<void> {
    await this.#remove(this.#keys.segments);
    try {
      for (const key of [this.#keys.lock, this.#keys.root, this.#keys.parent]) await this.#remove(key);
    } catch (error) {
      // Somebody waits for the lock, or makes a new log of that name already: these keys mean nothing by themselves.
      if (!metadataErrors.NOT_EMPTY.is(error)) throw error;
    }
  }

  /** Told after each change of the head, and perhaps without one. */
  watch(listener: () => void): Watch {
    return this.#d.store.watch(this.#keys.segments, listener);
  }

  async #find(sequence: number): Promise<{ segment: CompletedSegment; version: number } | undefined> {
    const found = await this.#d.store.get(this.#keys.completedSegment(sequence));
    if (found === undefined) return undefined;
    const what = `segment ${sequence} of log "${this.name}"`;
    const segment = decodeSegment(found.value.toString(), what);
    if (segment.kind !== 'completed' || segment.sequence !== sequence) throw logErrors.MALFORMED(what, `its key holds "${found.value}"`);
    return { segment, version: found.version };
  }

  /** Undefined when one of them vanished. */
  async #readAll(sequences: readonly number[]): Promise<CompletedSegment[] | undefined> {
    const out: CompletedSegment[] = [];
    for (let at = 0; at < sequences.length; at += readsAtOnce) {
      const found = await Promise.all(sequences.slice(at, at + readsAtOnce).map((sequence) => this.readCompleted(sequence)));
      for (const segment of found) {
        if (segment === undefined) return undefined;
        out.push(segment);
      }
    }
    return out;
  }

  async #remove(key: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#d.store.delete(key, 'any');
        return;
      } catch (error) {
        if (metadataErrors.NOT_FOUND.is(error)) return;
        if (!metadataErrors.UNAVAILABLE.is(error) || attempt >= unknownMax) throw error;
      }
    }
  }
}

/** Everything but when it was completed, which each who does it would say differently. */
function isSameEnd(a: CompletedSegment, b: CompletedSegment): boolean {
  return a.ledgerId === b.ledgerId && a.lastEntryId === b.lastEntryId && a.lastTxId === b.lastTxId && a.recordsCount === b.recordsCount;
}
