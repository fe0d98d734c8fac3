import type { RegisteredBookie } from '@daybook/metadata';
import type { Logger } from '@daybook/runtime';
import type { BookieMetadata, Registration } from './bookie-api.js';
import { bookieErrors } from './errors.js';

/** What the cluster is told about this bookie: that it is there, and whether it takes entries. */
export class Presence {
  readonly #metadata: BookieMetadata | undefined;
  readonly #logger: Logger;
  #registration: Registration | undefined;
  #told = false;
  #isClosed = false;

  constructor(metadata: BookieMetadata | undefined, logger: Logger) {
    this.#metadata = metadata;
    this.#logger = logger;
  }

  /** Rejects with `BOOKIE_COOKIE_REFUSED` when the bookie was decommissioned while it started. */
  async register(bookie: RegisteredBookie): Promise<void> {
    if (this.#metadata === undefined) return;
    this.#registration = await this.#metadata.register(bookie);
    this.#told = bookie.isWritable;
    // In this order: who deletes a cookie looks for a registration afterwards, so that one of the two notices the other.
    if ((await this.#metadata.cookies.read(bookie.bookieId)) !== undefined) return;
    throw bookieErrors.COOKIE_REFUSED(
      `bookie ${bookie.bookieId} was decommissioned while it started: its cookie is gone`,
      'Wipe its directories with `daybook shell bookieformat` and start it as a new bookie',
    );
  }

  /** Others learn of it later than the bookie itself: until then they are refused, or do not choose it. Nothing before it is registered. */
  tell(isWritable: boolean): void {
    if (this.#registration === undefined || this.#told === isWritable) return;
    this.#told = isWritable;
    this.#registration.setWritable(isWritable).catch((error: unknown) => {
      if (!this.#isClosed) this.#logger.error({ error, isWritable }, 'the cluster cannot be told whether this bookie is writable');
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#registration?.close();
  }
}
