import { decodeHolder, encodeHolder, LeaderElection, type MetadataStore, paths } from '@daybook/metadata';
import type { AuditorDependencies, AuditorOptions } from './auditor-term.js';
import { AuditorTerm, defaultAuditorOptions } from './auditor-term.js';

export interface AuditorElectionDependencies extends AuditorDependencies {
  store: MetadataStore;
  /** What others see of the auditor; different for each candidate of the cluster. */
  name: string;
}

/** A candidate for the one auditor of the cluster; audits while it leads. */
export class Auditor {
  readonly #d: AuditorElectionDependencies;
  readonly #options: AuditorOptions;
  #election: LeaderElection | undefined;
  #term: AuditorTerm | undefined;
  /** Terms begin and end one after the other. */
  #turn: Promise<void> = Promise.resolve();

  constructor(dependencies: AuditorElectionDependencies, options: Partial<AuditorOptions> = {}) {
    this.#d = dependencies;
    this.#options = { ...defaultAuditorOptions, ...options };
  }

  get isLeading(): boolean {
    return this.#election?.state.at === 'leading';
  }

  start(): void {
    const { store, clock, name } = this.#d;
    this.#election = new LeaderElection({
      store,
      clock,
      path: paths.auditorElection,
      candidate: encodeHolder(name),
      onChange: (state) => this.#lead(state.at === 'leading'),
    });
  }

  async close(): Promise<void> {
    await this.#election?.close();
    this.#lead(false);
    await this.#turn;
  }

  #lead(isLeading: boolean): void {
    this.#turn = this.#turn.then(async () => {
      const { metrics, logger, name } = this.#d;
      const wasLeading = this.#term !== undefined;
      await this.#term?.close();
      this.#term = undefined;
      metrics.isAuditor.set(isLeading ? 1 : 0);
      if (wasLeading !== isLeading)
        logger.info({ name }, isLeading ? 'this is the auditor of the cluster now' : 'this is not the auditor of the cluster any more');
      if (!isLeading) return;
      this.#term = new AuditorTerm(this.#d, this.#options);
      this.#term.start();
    });
  }
}

/** Who the auditor is; undefined without one. */
export async function readAuditor(store: MetadataStore): Promise<string | undefined> {
  const found = await store.get(paths.auditorElection.leader);
  return found && (decodeHolder(found.value) ?? 'somebody');
}
