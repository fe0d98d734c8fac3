import { metadataErrors, nameOfPart, paths, type Versioned } from '@daybook/metadata';
import { decodeManagedCursorInfo, encodeManagedCursorInfo, type ManagedCursorInfo, type Position } from '@daybook/proto';
import { errorCode } from '@daybook/runtime';
import { retryDelay } from './backoff.js';
import type { LogContext } from './context.js';
import { managedLedgerErrors } from './errors.js';
import type { LedgerList } from './ledger-list.js';

export function newCursorInfo(markDelete: Position, nowMs: number): ManagedCursorInfo {
  const unknown = new Uint8Array(0);
  return {
    cursorLedgerId: undefined,
    markDelete,
    individuallyDeleted: [],
    properties: [],
    lastActiveMs: nowMs,
    batchDeletions: [],
    cursorProperties: [],
    unknown,
  };
}

/** Names and paths of a log's cursors. A name that somebody else spelt in another way is shown as it is. */
export async function cursorsOf(context: Pick<LogContext, 'store'>, log: string): Promise<{ name: string; path: string }[]> {
  const parent = paths.managedLedger(log);
  return (await context.store.children(parent)).map((part) => ({ name: nameOfPart(part) ?? part, path: `${parent}/${part}` }));
}

/** A cursor's record in the metadata. The owner of the log owns it: that is looked at on every conflict, and by the cursor after every write. */
export class CursorRecord {
  readonly #context: LogContext;
  readonly #list: LedgerList;
  readonly #path: string;
  readonly #log: string;
  #info: ManagedCursorInfo;
  #version: number;

  private constructor(context: LogContext, place: { list: LedgerList; path: string; log: string }, info: ManagedCursorInfo, version: number) {
    this.#context = context;
    this.#list = place.list;
    this.#path = place.path;
    this.#log = place.log;
    this.#info = info;
    this.#version = version;
  }

  static async read(context: LogContext, place: { list: LedgerList; path: string; log: string }): Promise<CursorRecord | undefined> {
    const found = await context.store.get(place.path);
    return found === undefined ? undefined : new CursorRecord(context, place, decodeManagedCursorInfo(found.value), found.version);
  }

  /** One that exists already is what is returned: an earlier attempt's answer may have been lost. */
  static async create(context: LogContext, place: { list: LedgerList; path: string; log: string }, info: ManagedCursorInfo): Promise<CursorRecord> {
    try {
      const { version } = await context.store.put(place.path, encodeManagedCursorInfo(info), 'absent');
      return new CursorRecord(context, place, info, version);
    } catch (error) {
      const found = metadataErrors.EXISTS.is(error) ? await CursorRecord.read(context, place) : undefined;
      if (found === undefined) throw error;
      return found;
    }
  }

  get info(): ManagedCursorInfo {
    return this.#info;
  }

  /** Reads it again: whoever had the log before may have written it once more. Undefined when it is gone. */
  async reread(): Promise<ManagedCursorInfo | undefined> {
    const found = await this.#context.store.get(this.#path);
    if (found === undefined) return undefined;
    this.#info = decodeManagedCursorInfo(found.value);
    this.#version = found.version;
    return this.#info;
  }

  /**
   * Replaces the record; returns the one it replaced, which is another than {@link info} when a broker that no longer owns the log was the last to write.
   * Tries until `stop`. `MANAGED_LEDGER_FENCED`, `MANAGED_LEDGER_CLOSED`.
   */
  async write(info: ManagedCursorInfo, stop: AbortSignal): Promise<ManagedCursorInfo> {
    const value = encodeManagedCursorInfo(info);
    const delay = retryDelay(this.#context);
    let replaced = this.#info;
    let isUnknown = false;
    for (;;) {
      if (stop.aborted) throw managedLedgerErrors.CLOSED(this.#log);
      try {
        if (isUnknown) {
          const now = await this.#stored();
          if (now.version !== this.#version && now.value.equals(value)) {
            this.#version = now.version;
            break;
          }
          if (now.version !== this.#version) replaced = await this.#takeOver(now);
        }
        this.#version = (await this.#context.store.put(this.#path, value, this.#version)).version;
        break;
      } catch (error) {
        const code = errorCode(error);
        if (code !== metadataErrors.BAD_VERSION.code && code !== metadataErrors.UNAVAILABLE.code) throw error;
        isUnknown = true;
        if (code === metadataErrors.UNAVAILABLE.code) await this.#context.clock.sleep(delay.nextDelayMs(), stop);
      }
    }
    this.#info = info;
    return replaced;
  }

  async remove(): Promise<void> {
    try {
      await this.#context.store.delete(this.#path, 'any');
    } catch (error) {
      if (!metadataErrors.NOT_FOUND.is(error)) throw error;
    }
  }

  async #stored(): Promise<Versioned> {
    const now = await this.#context.store.get(this.#path);
    if (now === undefined) throw managedLedgerErrors.FENCED(this.#log);
    return now;
  }

  async #takeOver(now: Versioned): Promise<ManagedCursorInfo> {
    if (!(await this.#list.isOwned())) throw managedLedgerErrors.FENCED(this.#log);
    this.#version = now.version;
    return decodeManagedCursorInfo(now.value);
  }
}
