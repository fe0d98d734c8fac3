import { metadataErrors } from '@daybook/metadata';
import { decodeManagedLedgerInfo, encodeManagedLedgerInfo, type ManagedLedgerInfo } from '@daybook/proto';
import { errorCode } from '@daybook/runtime';
import { retryDelay } from './backoff.js';
import type { LogContext } from './context.js';
import { managedLedgerErrors } from './errors.js';
import { emptyLog } from './ledger-infos.js';

type ListContext = Pick<LogContext, 'store' | 'clock' | 'random' | 'settings'>;

/**
 * The record of a log's ledgers. Its version is the ownership: whoever wrote last owns the log, and everybody else finds out at their next write, which
 * fails with `MANAGED_LEDGER_FENCED`, for good.
 */
export class LedgerList {
  readonly #context: ListContext;
  readonly #path: string;
  readonly #name: string;
  #info: ManagedLedgerInfo;
  /** As found in the store; undefined when we have written since, as it then holds exactly what `#info` encodes to. */
  #found: Buffer | undefined;
  #version: number | 'absent';
  #turn: Promise<unknown> | undefined;

  private constructor(context: ListContext, place: { path: string; name: string }, found: { value: Buffer; version: number } | undefined) {
    this.#context = context;
    this.#path = place.path;
    this.#name = place.name;
    this.#info = found === undefined ? emptyLog : decodeManagedLedgerInfo(found.value);
    this.#found = found?.value;
    this.#version = found?.version ?? 'absent';
  }

  static async read(context: ListContext, place: { path: string; name: string }): Promise<LedgerList> {
    return new LedgerList(context, place, await context.store.get(place.path));
  }

  get info(): ManagedLedgerInfo {
    return this.#info;
  }

  get isNew(): boolean {
    return this.#version === 'absent';
  }

  /** Whether nobody has written since we did. The value is compared as well: a log that was deleted and made again starts its versions anew. */
  async isOwned(): Promise<boolean> {
    const now = await this.#context.store.get(this.#path);
    if (now === undefined) return this.#version === 'absent';
    return now.version === this.#version && now.value.equals(this.#found ?? encodeManagedLedgerInfo(this.#info));
  }

  /**
   * Compare-and-set of `change(info)`, one after another. While the store cannot be reached it goes on trying until `stop` aborts, and settles what an
   * unanswered write did. Rejects with `MANAGED_LEDGER_FENCED` when somebody else wrote, `MANAGED_LEDGER_CLOSED` when stopped.
   */
  update(change: (info: ManagedLedgerInfo) => ManagedLedgerInfo, stop: AbortSignal): Promise<ManagedLedgerInfo> {
    const result = (this.#turn ?? Promise.resolve()).then(() => this.#write(change(this.#info), stop));
    const turn = result
      .catch(() => undefined)
      .then(() => {
        if (this.#turn === turn) this.#turn = undefined;
      });
    this.#turn = turn;
    return result;
  }

  async remove(): Promise<void> {
    if (this.#version === 'absent') return;
    try {
      await this.#context.store.delete(this.#path, this.#version);
    } catch (error) {
      if (errorCode(error) !== metadataErrors.NOT_FOUND.code) throw error;
    }
    this.#version = 'absent';
  }

  async #write(info: ManagedLedgerInfo, stop: AbortSignal): Promise<ManagedLedgerInfo> {
    const value = encodeManagedLedgerInfo(info);
    const delay = retryDelay(this.#context);
    let isUnknown = false;
    for (;;) {
      if (stop.aborted) throw managedLedgerErrors.CLOSED(this.#name);
      try {
        if (isUnknown && (await this.#happened(value))) break;
        const { version } = await this.#context.store.put(this.#path, value, this.#version);
        this.#version = version;
        break;
      } catch (error) {
        const code = errorCode(error);
        if (code === metadataErrors.BAD_VERSION.code || code === metadataErrors.EXISTS.code) {
          throw managedLedgerErrors.FENCED(this.#name, { cause: error });
        }
        if (code !== metadataErrors.UNAVAILABLE.code) throw error;
        isUnknown = true;
        await this.#context.clock.sleep(delay.nextDelayMs(), stop);
      }
    }
    this.#info = info;
    this.#found = undefined;
    return info;
  }

  /** After an unanswered write: did it happen? Nobody else writes the same bytes, as each owner's list names a ledger of its own. */
  async #happened(value: Buffer): Promise<boolean> {
    const now = await this.#context.store.get(this.#path);
    const expected = this.#version === 'absent' ? 0 : this.#version + 1;
    if (now === undefined || now.version !== expected || !now.value.equals(value)) return false;
    this.#version = now.version;
    return true;
  }
}
