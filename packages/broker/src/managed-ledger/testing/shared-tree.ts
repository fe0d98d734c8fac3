import {
  type Expected,
  type MetadataStore,
  metadataErrors,
  type PutOptions,
  type PutResult,
  type SessionState,
  type Versioned,
  type Watch,
} from '@daybook/metadata';

/** A tree of values that several {@link TreeSession}s share. */
export class SharedTree {
  readonly values = new Map<string, { value: Buffer; version: number }>();
  writesCount = 0;
  readsCount = 0;
}

/** One broker's way to the tree, with the faults a test wants. Only what logs use. */
export class TreeSession implements MetadataStore {
  readonly #tree: SharedTree;
  readonly session: SessionState = 'connected';
  readonly sessionTimeoutMs = 10_000;
  /** Nothing is ever answered again, nor does anything happen: the process is gone. */
  isDead = false;
  isUnavailable = false;
  /** The next writes happen, but the caller hears `METADATA_UNAVAILABLE`. */
  loseWriteReplies = 0;
  /** Runs once, right before the next write. */
  beforeWrite: ((path: string) => void | Promise<void>) | undefined;

  constructor(tree: SharedTree) {
    this.#tree = tree;
  }

  async get(path: string): Promise<Versioned | undefined> {
    await this.#travel();
    this.#tree.readsCount++;
    const found = this.#tree.values.get(path);
    return found === undefined ? undefined : { value: Buffer.from(found.value), version: found.version, ownEphemeral: false };
  }

  async put(path: string, value: Uint8Array, expected: Expected, _options?: PutOptions): Promise<PutResult> {
    await this.#travel();
    await this.#before(path);
    const found = this.#tree.values.get(path);
    if (expected === 'absent' && found !== undefined) throw metadataErrors.EXISTS(path);
    if (typeof expected === 'number' && found?.version !== expected) throw metadataErrors.BAD_VERSION(path);
    const version = found === undefined ? 0 : found.version + 1;
    this.#tree.values.set(path, { value: Buffer.from(value), version });
    this.#tree.writesCount++;
    this.#reply();
    return { path, version };
  }

  async delete(path: string, expected: number | 'any'): Promise<void> {
    await this.#travel();
    await this.#before(path);
    const found = this.#tree.values.get(path);
    if (found === undefined) throw metadataErrors.NOT_FOUND(path);
    if (expected !== 'any' && found.version !== expected) throw metadataErrors.BAD_VERSION(path);
    if ([...this.#tree.values.keys()].some((other) => other.startsWith(`${path}/`))) throw metadataErrors.NOT_EMPTY(path);
    this.#tree.values.delete(path);
    this.#tree.writesCount++;
    this.#reply();
  }

  async children(path: string): Promise<string[]> {
    await this.#travel();
    this.#tree.readsCount++;
    const names = [...this.#tree.values.keys()]
      .filter((other) => other.startsWith(`${path}/`))
      .map((other) => other.slice(path.length + 1).split('/')[0]);
    return [...new Set(names as string[])].sort();
  }

  watch(): Watch {
    return { stop: () => undefined };
  }

  onSession(): Watch {
    return { stop: () => undefined };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #travel(): Promise<void> {
    if (this.isDead) await new Promise<never>(() => undefined);
    if (this.isUnavailable) throw metadataErrors.UNAVAILABLE('the test says so');
  }

  async #before(path: string): Promise<void> {
    const before = this.beforeWrite;
    this.beforeWrite = undefined;
    await before?.(path);
    if (this.isDead) await new Promise<never>(() => undefined);
  }

  #reply(): void {
    if (this.loseWriteReplies === 0) return;
    this.loseWriteReplies--;
    throw metadataErrors.UNAVAILABLE('the reply was lost');
  }
}
