import type { LedgerWriter } from '@daybook/ledger';
import { retryDelay } from './backoff.js';
import type { LogContext } from './context.js';
import { managedLedgerErrors } from './errors.js';
import { createLedger, deleteLedgers, sleepOrBookieChange } from './ledger-switch.js';
import type { ManagedLedgerOptions } from './managed-ledger-api.js';

/** Makes a log's next ledgers and remembers how that went. */
export class LedgerMaker {
  readonly #context: LogContext;
  readonly #options: ManagedLedgerOptions;
  readonly #name: string;
  readonly #stop: AbortController;
  /** Why there was none the last time, and when that was by the wall clock. */
  lastFailure: Error | undefined;
  lastFailureWallMs: number | undefined;
  /** A ledger that nothing forces is not made before this moment. */
  notBeforeMs = 0;

  constructor(context: LogContext, log: { name: string; options: ManagedLedgerOptions }, stop: AbortController) {
    this.#context = context;
    this.#options = log.options;
    this.#name = log.name;
    this.#stop = stop;
  }

  /** One attempt; undefined, and a pause for further ones, when it fails. */
  async tryOnce(): Promise<LedgerWriter | undefined> {
    try {
      return await this.#make();
    } catch (error) {
      this.notBeforeMs = this.#context.clock.monoMs() + this.#context.settings.rollRetryDelayMs;
      this.#context.logger.warn({ log: this.#name, error }, 'no new ledger can be made: going on with the present one');
      return undefined;
    }
  }

  /** The log has no ledger to write to: tries until there is one, or rejects with `MANAGED_LEDGER_CLOSED` when stopped. */
  async untilMade(): Promise<LedgerWriter> {
    const delay = retryDelay(this.#context);
    for (;;) {
      if (this.#stop.signal.aborted) throw managedLedgerErrors.CLOSED(this.#name);
      try {
        return await this.#make();
      } catch (error) {
        this.#context.logger.warn({ log: this.#name, error }, 'no new ledger can be made: appends wait');
        await sleepOrBookieChange(this.#context, delay.nextDelayMs(), this.#stop.signal);
      }
    }
  }

  /** Gets rid of a ledger that never came into the list. */
  discard(writer: LedgerWriter): void {
    const closed = writer.close().catch(() => undefined);
    this.#context.background(closed.then(() => deleteLedgers(this.#context, this.#name, [writer.ledgerId])));
  }

  async #make(): Promise<LedgerWriter> {
    try {
      return await createLedger(this.#context, this.#options, { name: this.#name });
    } catch (error) {
      this.lastFailure = error as Error;
      this.lastFailureWallMs = this.#context.clock.wallMs();
      throw error;
    }
  }
}
