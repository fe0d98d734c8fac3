import { invariant } from '@daybook/runtime';
import { metadataErrors } from './errors.js';
import { lastPart, parentOf, sequenceDigits, underEphemeral } from './metadata-path.js';
import type { Expected, PutOptions, PutResult } from './metadata-store.js';

/** Owner of values that stay until they are deleted. */
export const noOwner = 0;

export interface TreeNode {
  value: Buffer;
  version: number;
  /** The session that made it and whose end removes it, or {@link noOwner}. */
  owner: number;
  /** The number the next sequential child gets. */
  nextSequence: number;
  /** Names of the direct children; made for the first one, as most nodes have none. */
  children: Set<string> | undefined;
}

/** One thing that changed, in the order it happened: enough to write a log, to undo it and to wake watchers. */
export type TreeChange =
  | { kind: 'put'; path: string; node: TreeNode; before: { value: Buffer; version: number } | undefined }
  | { kind: 'delete'; path: string; node: TreeNode }
  | { kind: 'sequence'; path: string; next: number };

/**
 * The tree of values in memory, with the rules of `MetadataStore` and nothing else: synchronous, no sessions, no durability. Memory and embedded
 * store are built on it. Paths and sizes were checked by the caller.
 */
export class MetadataTree {
  readonly #nodes = new Map<string, TreeNode>([['/', newNode(Buffer.alloc(0), 0, noOwner)]]);

  get nodesCount(): number {
    return this.#nodes.size;
  }

  get(path: string): TreeNode | undefined {
    return this.#nodes.get(path);
  }

  /** Names of the direct children, in code-unit order. */
  children(path: string): string[] {
    const node = this.#nodes.get(path);
    return node?.children === undefined ? [] : [...node.children].sort();
  }

  /** Everything, parents before their children. */
  entries(): IterableIterator<[string, TreeNode]> {
    return this.#nodes.entries();
  }

  /** Applies a write, adding what changed to `changes`; throws the errors of `MetadataStore.put`, then nothing has changed. `value` is kept, not copied. */
  put(path: string, value: Buffer, expected: Expected, options: PutOptions & { owner: number }, changes: TreeChange[]): PutResult {
    const owner = options.ephemeral === true ? options.owner : noOwner;
    if (options.sequential === true) {
      invariant(expected === 'absent', 'a sequential value is always a new one');
      const parent = parentOf(path);
      this.#makeParents(path, changes);
      const parentNode = this.#nodes.get(parent) as TreeNode;
      while (this.#nodes.has(path + sequenceDigits(parentNode.nextSequence))) parentNode.nextSequence += 1;
      const numbered = path + sequenceDigits(parentNode.nextSequence);
      parentNode.nextSequence += 1;
      changes.push({ kind: 'sequence', path: parent, next: parentNode.nextSequence });
      return this.#add(numbered, value, owner, changes);
    }
    const node = this.#nodes.get(path);
    if (node === undefined) {
      if (typeof expected === 'number') throw metadataErrors.BAD_VERSION(path);
      this.#makeParents(path, changes);
      return this.#add(path, value, owner, changes);
    }
    if (expected === 'absent') throw metadataErrors.EXISTS(path);
    if (expected !== 'any' && expected !== node.version) throw metadataErrors.BAD_VERSION(path);
    changes.push({ kind: 'put', path, node, before: { value: node.value, version: node.version } });
    node.value = value;
    node.version += 1;
    return { path, version: node.version };
  }

  delete(path: string, expected: number | 'any', changes: TreeChange[]): void {
    const node = this.#nodes.get(path);
    if (node === undefined) throw metadataErrors.NOT_FOUND(path);
    if (expected !== 'any' && expected !== node.version) throw metadataErrors.BAD_VERSION(path);
    if (hasChildren(node)) throw metadataErrors.NOT_EMPTY(path);
    this.#drop(path);
    changes.push({ kind: 'delete', path, node });
  }

  /** Removes the values of a session that has ended. */
  deleteOwnedBy(owner: number, changes: TreeChange[]): void {
    for (const [path, node] of [...this.#nodes]) {
      if (node.owner !== owner) continue;
      this.#drop(path);
      changes.push({ kind: 'delete', path, node });
    }
  }

  /** Takes changes back, last one first. Sequence numbers stay used. */
  undo(changes: readonly TreeChange[]): void {
    for (const change of [...changes].reverse()) {
      if (change.kind === 'delete') this.#attach(change.path, change.node);
      else if (change.kind === 'put' && change.before === undefined) this.#drop(change.path);
      else if (change.kind === 'put' && change.before !== undefined) Object.assign(change.node, change.before);
    }
  }

  /** Puts a value from a log or snapshot in its place whatever was there; its parents come before it. */
  restore(path: string, value: Buffer, version: number): void {
    let node = this.#nodes.get(path);
    if (node === undefined) {
      node = newNode(value, version, noOwner);
      this.#attach(path, node);
    }
    node.value = value;
    node.version = version;
  }

  restoreSequence(path: string, next: number): void {
    const node = this.#nodes.get(path);
    if (node !== undefined) node.nextSequence = next;
  }

  /** Removes a value as a log says it was; false when it is not there or has children. */
  restoreDelete(path: string): boolean {
    const node = this.#nodes.get(path);
    if (node === undefined || path === '/' || hasChildren(node)) return false;
    this.#drop(path);
    return true;
  }

  #makeParents(path: string, changes: TreeChange[]): void {
    const missing: string[] = [];
    let parent = parentOf(path);
    while (!this.#nodes.has(parent)) {
      missing.push(parent);
      parent = parentOf(parent);
    }
    if ((this.#nodes.get(parent) as TreeNode).owner !== noOwner) throw metadataErrors.BAD_PATH(path, underEphemeral);
    for (const each of missing.reverse()) this.#add(each, Buffer.alloc(0), noOwner, changes);
  }

  #add(path: string, value: Buffer, owner: number, changes: TreeChange[]): PutResult {
    const node = newNode(value, 0, owner);
    this.#attach(path, node);
    changes.push({ kind: 'put', path, node, before: undefined });
    return { path, version: 0 };
  }

  #attach(path: string, node: TreeNode): void {
    const parent = this.#nodes.get(parentOf(path));
    invariant(parent !== undefined, `${path} has no parent`);
    parent.children ??= new Set();
    parent.children.add(lastPart(path));
    this.#nodes.set(path, node);
  }

  #drop(path: string): void {
    this.#nodes.delete(path);
    this.#nodes.get(parentOf(path))?.children?.delete(lastPart(path));
  }
}

function newNode(value: Buffer, version: number, owner: number): TreeNode {
  return { value, version, owner, nextSequence: 0, children: undefined };
}

function hasChildren({ children }: TreeNode): boolean {
  return children !== undefined && children.size > 0;
}
