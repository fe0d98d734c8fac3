import type { BookieRegistry, RegisteredBookie } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';

/** A bookie registry that tests change by hand. */
export class MemoryRegistry implements BookieRegistry {
  readonly #bookies = new Map<BookieId, RegisteredBookie>();
  readonly #listeners = new Set<() => void>();
  readonly #joined = new Set<BookieId>();

  register(bookie: RegisteredBookie): void {
    this.#bookies.set(bookie.bookieId, bookie);
    this.#joined.add(bookie.bookieId);
    this.#changed();
  }

  unregister(bookieId: BookieId): void {
    this.#bookies.delete(bookieId);
    this.#changed();
  }

  list(): readonly RegisteredBookie[] {
    return [...this.#bookies.values()].sort((a, b) => (a.bookieId < b.bookieId ? -1 : 1));
  }

  get(bookieId: BookieId): RegisteredBookie | undefined {
    return this.#bookies.get(bookieId);
  }

  joined(): readonly BookieId[] {
    return [...this.#joined];
  }

  onChange(listener: () => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => this.#listeners.delete(listener) };
  }

  close(): void {
    this.#listeners.clear();
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
