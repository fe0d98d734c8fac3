import { type MetadataStore, metadataErrors, paths, type Watch } from '@daybook/metadata';
import { asBookieId, type BookieId } from '@daybook/proto';
import { decodeCheckTime, decodeDelaySeconds, encodeCheckTime } from './repair-format.js';

/** Checks that the auditor runs now and then; when they ran last is written down, so that a new auditor does not begin again. */
export type PeriodicCheck = 'all-ledgers' | 'placement' | 'replicas';

export const periodicChecks: readonly PeriodicCheck[] = ['all-ledgers', 'placement', 'replicas'];

export interface RecoveryDelay {
  seconds: number;
  /** Rises with each write: the same value written again asks for an audit. */
  version: number;
}

const timePaths: Readonly<Record<PeriodicCheck, string>> = {
  'all-ledgers': paths.checkAllLedgersTime,
  placement: paths.placementCheckTime,
  replicas: paths.replicasCheckTime,
};

const noBytes = Buffer.alloc(0);

/** What operators set for the whole cluster, and what its auditors remember. */
export class RepairSettings {
  readonly #store: MetadataStore;

  constructor(store: MetadataStore) {
    this.#store = store;
  }

  async isEnabled(): Promise<boolean> {
    return (await this.#store.get(paths.autoRecoveryDisabled)) === undefined;
  }

  /** Idempotent. Switched off, no audit and no repair begins; what is being copied may end. */
  async setEnabled(isEnabled: boolean): Promise<void> {
    try {
      if (isEnabled) await this.#store.delete(paths.autoRecoveryDisabled, 'any');
      else await this.#store.put(paths.autoRecoveryDisabled, noBytes, 'absent');
    } catch (error) {
      if (!metadataErrors.NOT_FOUND.is(error) && !metadataErrors.EXISTS.is(error)) throw error;
    }
  }

  watchEnabled(listener: () => void): Watch {
    return this.#store.watch(paths.autoRecoveryDisabled, listener);
  }

  /** Sets the delay if nobody has set one yet. */
  async initialiseDelay(seconds: number): Promise<void> {
    try {
      if ((await this.#store.get(paths.lostBookieRecoveryDelay)) !== undefined) return;
      await this.#store.put(paths.lostBookieRecoveryDelay, Buffer.from(String(seconds)), 'absent');
    } catch (error) {
      if (!metadataErrors.EXISTS.is(error)) throw error;
    }
  }

  /** How long a single lost bookie is waited for; undefined when nobody has said. */
  async readDelay(): Promise<RecoveryDelay | undefined> {
    const found = await this.#store.get(paths.lostBookieRecoveryDelay);
    return found && { seconds: decodeDelaySeconds(found.value) ?? 0, version: found.version };
  }

  async setDelay(seconds: number): Promise<void> {
    await this.#store.put(paths.lostBookieRecoveryDelay, Buffer.from(String(seconds)), 'any');
  }

  /** Asks the auditor for an audit now, whatever delay is running: writes the same delay again. */
  async triggerAudit(): Promise<void> {
    await this.setDelay((await this.readDelay())?.seconds ?? 0);
  }

  watchDelay(listener: () => void): Watch {
    return this.#store.watch(paths.lostBookieRecoveryDelay, listener);
  }

  /** When the check ended last, milliseconds since the epoch. */
  async readCheckTime(check: PeriodicCheck): Promise<number | undefined> {
    const found = await this.#store.get(timePaths[check]);
    return found && decodeCheckTime(found.value);
  }

  async writeCheckTime(check: PeriodicCheck, ms: number): Promise<void> {
    await this.#store.put(timePaths[check], encodeCheckTime(ms), 'any');
  }

  /** Makes the check due at once. */
  async forgetCheckTime(check: PeriodicCheck): Promise<void> {
    try {
      await this.#store.delete(timePaths[check], 'any');
    } catch (error) {
      if (!metadataErrors.NOT_FOUND.is(error)) throw error;
    }
  }

  watchCheckTimes(listener: () => void): Watch {
    const watches = Object.values(timePaths).map((path) => this.#store.watch(path, listener));
    return {
      stop: () => {
        for (const watch of watches) watch.stop();
      },
    };
  }

  /** Bookies whose copies are to be moved elsewhere although they may be up. */
  async drainingBookies(): Promise<Set<BookieId>> {
    const names = await this.#store.children(paths.drainingBookies);
    return new Set(names.flatMap((name) => asBookieId(name) ?? []));
  }

  async setDraining(id: BookieId, isDraining: boolean): Promise<void> {
    try {
      if (isDraining) await this.#store.put(paths.drainingBookie(id), noBytes, 'absent');
      else await this.#store.delete(paths.drainingBookie(id), 'any');
    } catch (error) {
      if (!metadataErrors.NOT_FOUND.is(error) && !metadataErrors.EXISTS.is(error)) throw error;
    }
  }
}
