import { parentOf } from './metadata-path.js';
import type { Watch } from './metadata-store.js';
import type { TreeChange } from './metadata-tree.js';

type Listener = () => void;

interface Entry {
  listener: Listener;
  isStopped: boolean;
}

/**
 * Who wants to hear of which path. Calls come later than the change (never inside the caller's write), each listener at most once per delivery
 * however much changed. `later` decides when; it must call its task exactly once.
 */
export class WatchTable {
  readonly #watches = new Map<string, Set<Entry>>();
  readonly #due = new Set<Entry>();
  readonly #later: (task: () => void) => void;

  constructor(later: (task: () => void) => void = queueMicrotask) {
    this.#later = later;
  }

  add(path: string, listener: Listener): Watch {
    const watch: Entry = { listener, isStopped: false };
    let atPath = this.#watches.get(path);
    if (atPath === undefined) {
      atPath = new Set();
      this.#watches.set(path, atPath);
    }
    atPath.add(watch);
    const stop = () => {
      watch.isStopped = true;
      const current = this.#watches.get(path);
      if (current?.delete(watch) === true && current.size === 0) this.#watches.delete(path);
    };
    return { stop };
  }

  paths(): IterableIterator<string> {
    return this.#watches.keys();
  }

  has(path: string): boolean {
    return this.#watches.has(path);
  }

  /** Wakes the watchers of each path changed, and of its parent when the path came or went. */
  changed(changes: readonly TreeChange[]): void {
    for (const change of changes) {
      if (change.kind === 'sequence') continue;
      this.notify(change.path);
      if (change.kind === 'delete' || change.before === undefined) this.notify(parentOf(change.path));
    }
  }

  notify(path: string): void {
    for (const watch of this.#watches.get(path) ?? []) this.#schedule(watch);
  }

  notifyAll(): void {
    for (const atPath of this.#watches.values()) for (const watch of atPath) this.#schedule(watch);
  }

  clear(): void {
    this.#watches.clear();
    this.#due.clear();
  }

  #schedule(watch: Entry): void {
    this.#due.add(watch);
    if (this.#due.size > 1) return;
    this.#later(() => {
      const due = [...this.#due];
      this.#due.clear();
      for (const each of due) if (!each.isStopped) each.listener();
    });
  }
}
