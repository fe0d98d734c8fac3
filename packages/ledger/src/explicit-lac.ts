import { createDigest, type EntryId, encodeExplicitLac, type LedgerId, type LedgerMetadata, masterKey } from '@daybook/proto';
import type { Clock, Timer } from '@daybook/runtime';
import { writeSet } from './distribution.js';
import type { MemberConnections } from './member-connections.js';

/** The writer whose last-add-confirmed is told. */
export interface LacSource {
  readonly ledgerId: LedgerId;
  readonly metadata: LedgerMetadata;
  readonly lastAddConfirmed: EntryId;
  /** What the newest entry that was sent says. */
  readonly carriedLac: number;
}

/**
 * Tells the bookies the last-add-confirmed of a writer that has stopped writing: its last entries could not say so themselves. Runs only while there is
 * something to tell; when fewer than Qa take it, it is told again after another interval.
 */
export class ExplicitLac {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #source: LacSource;
  readonly #connections: MemberConnections;
  #timer: Timer | undefined;
  #toldLac = -1;
  #isStopped = false;

  constructor(dependencies: { clock: Clock; intervalMs: number; source: LacSource; connections: MemberConnections }) {
    this.#clock = dependencies.clock;
    this.#intervalMs = dependencies.intervalMs;
    this.#source = dependencies.source;
    this.#connections = dependencies.connections;
  }

  /** The last-add-confirmed moved. */
  moved(): void {
    if (this.#timer !== undefined || this.#isStopped || !this.#hasNews()) return;
    this.#timer = this.#clock.after(this.#intervalMs, () => {
      void this.#tell().finally(() => {
        this.#timer = undefined;
        this.moved();
      });
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #hasNews(): boolean {
    return this.#source.lastAddConfirmed > Math.max(this.#toldLac, this.#source.carriedLac);
  }

  async #tell(): Promise<void> {
    if (!this.#hasNews()) return;
    const { ledgerId, metadata, lastAddConfirmed } = this.#source;
    const request = {
      ledgerId,
      masterKey: masterKey(metadata.password),
      explicitLac: encodeExplicitLac(ledgerId, lastAddConfirmed, createDigest(metadata.digestType, metadata.password)),
    };
    const replies = writeSet(metadata, lastAddConfirmed).map((index) => this.#connections.at(index)?.service.writeLac(request));
    const codes = await Promise.all(replies);
    const takenCount = codes.filter((reply) => reply?.code === 'OK').length;
    if (takenCount >= metadata.ackQuorumSize) this.#toldLac = Math.max(this.#toldLac, lastAddConfirmed);
  }
}
