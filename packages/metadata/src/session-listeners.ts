import type { SessionState, Watch } from './metadata-store.js';

/** The state of a session and who wants to hear of its changes. */
export class SessionListeners {
  #state: SessionState;
  readonly #listeners = new Set<{ listener: (state: SessionState) => void }>();

  constructor(state: SessionState) {
    this.#state = state;
  }

  get state(): SessionState {
    return this.#state;
  }

  add(listener: (state: SessionState) => void): Watch {
    const entry = { listener };
    this.#listeners.add(entry);
    return { stop: () => void this.#listeners.delete(entry) };
  }

  /** `closed` is final. */
  change(state: SessionState): void {
    if (this.#state === state || this.#state === 'closed') return;
    this.#state = state;
    for (const entry of [...this.#listeners]) entry.listener(state);
  }
}
