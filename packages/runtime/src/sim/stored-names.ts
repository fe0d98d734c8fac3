import { posix } from 'node:path';
import type { StoredFile } from './stored-file.js';

/** Creating, renaming or removing a name, until the directories it touches are synced. */
interface NameChange {
  /** Names that go away and names that appear, as full paths. */
  readonly removed: readonly string[];
  readonly added: readonly (readonly [string, StoredFile])[];
  readonly unsyncedDirectories: Set<string>;
}

/**
 * The directory tree of a simulated disk. A crash keeps or drops each unsynced change as a whole (a rename is atomic, as on every
 * journaling file system), independently of the others, but never one that builds on a dropped one by touching the same name.
 */
export class StoredNames {
  readonly #current = new Map<string, StoredFile>();
  readonly #durable = new Map<string, StoredFile>();
  readonly #directories = new Set<string>(['/']);
  #pending: NameChange[] = [];

  file(path: string): StoredFile | undefined {
    return this.#current.get(path);
  }

  paths(): IterableIterator<string> {
    return this.#current.keys();
  }

  hasDirectory(path: string): boolean {
    return this.#directories.has(path);
  }

  makeDirectory(path: string): void {
    for (let directory = path; !this.#directories.has(directory); directory = posix.dirname(directory)) this.#directories.add(directory);
  }

  create(path: string, file: StoredFile): void {
    this.#change({ removed: [], added: [[path, file]], unsyncedDirectories: new Set([posix.dirname(path)]) });
  }

  rename(from: string, to: string): void {
    const file = this.#current.get(from);
    if (file === undefined || from === to) return;
    this.#change({ removed: [from], added: [[to, file]], unsyncedDirectories: new Set([posix.dirname(from), posix.dirname(to)]) });
  }

  remove(path: string): void {
    if (this.#current.has(path)) this.#change({ removed: [path], added: [], unsyncedDirectories: new Set([posix.dirname(path)]) });
  }

  list(directory: string): string[] {
    const names: string[] = [];
    for (const path of this.#current.keys()) {
      if (posix.dirname(path) === directory) names.push(posix.basename(path));
    }
    for (const path of this.#directories) {
      if (path !== directory && posix.dirname(path) === directory) names.push(posix.basename(path));
    }
    return names.sort();
  }

  /** A mark for {@link syncDirectory}: the changes so far. */
  changes(): readonly object[] {
    return [...this.#pending];
  }

  syncDirectory(directory: string, begun: readonly object[]): void {
    const sure = new Set(begun);
    for (const change of this.#pending) {
      if (sure.has(change)) change.unsyncedDirectories.delete(directory);
    }
    // From the newest: what a durable change builds on is durable with it.
    const durableNames = new Set<string>();
    const durable = new Set<NameChange>();
    for (const change of this.#pending.toReversed()) {
      const names = namesOf(change);
      if (change.unsyncedDirectories.size > 0 && !names.some((name) => durableNames.has(name))) continue;
      durable.add(change);
      for (const name of names) durableNames.add(name);
    }
    for (const change of this.#pending) if (durable.has(change)) apply(change, this.#durable);
    this.#pending = this.#pending.filter((change) => !durable.has(change));
  }

  /** What is left after the power failed; `survivorOf` gives the surviving content of a file (once per file). */
  survivor(keep: () => boolean, survivorOf: (file: StoredFile) => StoredFile): StoredNames {
    const names = new Map(this.#durable);
    const lost = new Set<string>();
    for (const change of this.#pending) {
      const touched = namesOf(change);
      if (!touched.some((name) => lost.has(name)) && keep()) apply(change, names);
      else for (const name of touched) lost.add(name);
    }
    const out = new StoredNames();
    for (const directory of this.#directories) out.#directories.add(directory);
    for (const [path, file] of names) {
      const survivor = survivorOf(file);
      out.#current.set(path, survivor);
      out.#durable.set(path, survivor);
    }
    return out;
  }

  #change(change: NameChange): void {
    apply(change, this.#current);
    this.#pending.push(change);
  }
}

function namesOf(change: NameChange): string[] {
  return [...change.removed, ...change.added.map(([path]) => path)];
}

function apply(change: NameChange, names: Map<string, StoredFile>): void {
  for (const path of change.removed) names.delete(path);
  for (const [path, file] of change.added) names.set(path, file);
}
