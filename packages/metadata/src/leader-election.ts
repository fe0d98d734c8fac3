import { type Clock, isWorthRetrying, type Timer } from '@daybook/runtime';
import { metadataErrors } from './errors.js';
import type { MetadataStore, Watch } from './metadata-store.js';

/**
 * - `following`: somebody else leads (`leader` is what they wrote), or nobody yet.
 * - `leading`: the key is ours, since `term`. Terms rise with each new leader.
 * - `unsure`: the store does not answer; whoever led must not act as leader now.
 * - `closed`
 *
 * unsure → following | leading → unsure | following; → closed from all.
 */
export type ElectionState = { at: 'following'; leader: Buffer | undefined } | { at: 'leading'; term: number } | { at: 'unsure' } | { at: 'closed' };

export interface ElectionOptions {
  store: MetadataStore;
  clock: Clock;
  /** `leader`: ephemeral key, its holder leads. `term`: lasting key whose version is the term. Both from `paths`. */
  path: { leader: string; term: string };
  /** What others read of the leader; must differ between candidates. */
  candidate: Uint8Array;
  onChange: (state: ElectionState) => void;
}

/**
 * One candidate of an election by an ephemeral key. At most one candidate holds the key, but one that has lost it may not know yet: what only a leader may write
 * has to carry its term (or be a compare-and-set on something that a newer leader has changed), and a writer that meets a higher term steps back.
 */
export class LeaderElection {
  readonly #options: ElectionOptions;
  readonly #watches: Watch[];
  #state: ElectionState = { at: 'unsure' };
  #running = false;
  #again = false;
  /** Counts lost sessions: what was begun in an earlier one is void. */
  #epoch = 0;
  #timer: Timer | undefined;

  constructor(options: ElectionOptions) {
    this.#options = options;
    const { store, path } = options;
    this.#watches = [store.onSession((session) => this.#sessionIs(session)), store.watch(path.leader, () => this.#campaign())];
    this.#campaign();
  }

  get state(): ElectionState {
    return this.#state;
  }

  /** Steps down at once. */
  async close(): Promise<void> {
    if (this.#state.at === 'closed') return;
    const wasLeading = this.#state.at === 'leading';
    for (const watch of this.#watches) watch.stop();
    this.#timer?.cancel();
    this.#become({ at: 'closed' });
    if (!wasLeading) return;
    const { store, path } = this.#options;
    try {
      const found = await store.get(path.leader);
      if (found?.ownEphemeral && found.value.equals(this.#options.candidate)) await store.delete(path.leader, found.version);
    } catch (error) {
      // The end of the session does it.
      if (!metadataErrors.UNAVAILABLE.is(error) && !metadataErrors.CLOSED.is(error) && !metadataErrors.NOT_FOUND.is(error)) throw error;
    }
  }

  #sessionIs(session: MetadataStore['session']): void {
    if (session === 'lost') this.#epoch += 1;
    if (session === 'connected') this.#campaign();
    else this.#become({ at: 'unsure' });
  }

  #campaign(): void {
    this.#again = true;
    if (this.#running || this.#state.at === 'closed') return;
    this.#running = true;
    this.#timer?.cancel();
    this.#run().then(
      () => {
        this.#running = false;
      },
      (error) => {
        this.#running = false;
        if (metadataErrors.CLOSED.is(error)) return;
        this.#become({ at: 'unsure' });
        if (!isWorthRetrying(error)) throw error;
        this.#timer = this.#options.clock.after(retryMs, () => this.#campaign());
      },
    );
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#isClosed()) {
      this.#again = false;
      const epoch = this.#epoch;
      const next = await this.#attempt();
      if (next === undefined || epoch !== this.#epoch) this.#again = true;
      else if (this.#options.store.session === 'connected') this.#become(next);
    }
  }

  /** Undefined: things moved, look again. */
  async #attempt(): Promise<ElectionState | undefined> {
    const { store, path, candidate } = this.#options;
    const found = await store.get(path.leader);
    if (found === undefined) {
      try {
        await store.put(path.leader, candidate, 'absent', { ephemeral: true });
      } catch (error) {
        if (metadataErrors.EXISTS.is(error)) return undefined;
        throw error;
      }
    } else if (!found.ownEphemeral || !found.value.equals(candidate)) return { at: 'following', leader: found.value };
    else if (this.#state.at === 'leading') return this.#state;
    return { at: 'leading', term: (await store.put(path.term, candidate, 'any')).version };
  }

  #isClosed(): boolean {
    return this.#state.at === 'closed';
  }

  #become(next: ElectionState): void {
    const { at } = this.#state;
    if (at === 'closed' || (at === next.at && isSame(this.#state, next))) return;
    this.#state = next;
    this.#options.onChange(next);
  }
}

const retryMs = 500;

function isSame(a: ElectionState, b: ElectionState): boolean {
  if (a.at === 'leading' && b.at === 'leading') return a.term === b.term;
  if (a.at === 'following' && b.at === 'following')
    return a.leader === b.leader || (a.leader !== undefined && b.leader !== undefined && a.leader.equals(b.leader));
  return a.at === b.at;
}
