import type { Expected, MetadataStore, PutOptions, PutResult, SessionState, Versioned, Watch } from '@daybook/metadata';

/** When a process dies: at its `call`-th write to the metadata (from 1), before it reaches the store or after it took effect. */
export interface CrashPoint {
  readonly call: number;
  readonly when: 'before' | 'after';
}

/** A process's way to the metadata that ends at a chosen write: nothing is answered from then on. */
export class CrashingStore implements MetadataStore {
  readonly #store: MetadataStore;
  #writesCount = 0;
  #point: CrashPoint | undefined;
  #isCrashed = false;
  onCrash: (() => void) | undefined;
  /** Runs right before each write. */
  beforeWrite: ((path: string) => void | Promise<void>) | undefined;

  constructor(store: MetadataStore) {
    this.#store = store;
  }

  get writesCount(): number {
    return this.#writesCount;
  }

  get isCrashed(): boolean {
    return this.#isCrashed;
  }

  /** Counting begins anew. */
  crashAt(point: CrashPoint): void {
    this.#writesCount = 0;
    this.#point = point;
  }

  crash(): void {
    this.#isCrashed = true;
  }

  get(path: string): Promise<Versioned | undefined> {
    return this.#answer(this.#isCrashed ? never() : this.#store.get(path));
  }

  put(path: string, value: Uint8Array, expected: Expected, options?: PutOptions): Promise<PutResult> {
    return this.#write(path, () => this.#store.put(path, value, expected, options));
  }

  delete(path: string, expected: number | 'any'): Promise<void> {
    return this.#write(path, () => this.#store.delete(path, expected));
  }

  children(path: string): Promise<string[]> {
    return this.#answer(this.#isCrashed ? never() : this.#store.children(path));
  }

  watch(path: string, listener: () => void): Watch {
    return this.#store.watch(path, () => {
      if (!this.#isCrashed) listener();
    });
  }

  get session(): SessionState {
    return this.#store.session;
  }

  get sessionTimeoutMs(): number {
    return this.#store.sessionTimeoutMs;
  }

  onSession(listener: (state: SessionState) => void): Watch {
    return this.#store.onSession((state) => {
      if (!this.#isCrashed) listener(state);
    });
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async #write<T>(path: string, write: () => Promise<T>): Promise<T> {
    await this.beforeWrite?.(path);
    if (this.#isCrashed) return never();
    this.#writesCount++;
    const isHere = this.#point?.call === this.#writesCount;
    if (isHere && this.#point?.when === 'before') {
      this.#die();
      return never();
    }
    const result = write();
    if (isHere) {
      // It takes effect, whatever the answer is: that never comes.
      result.then(
        () => this.#die(),
        () => this.#die(),
      );
      return never();
    }
    return this.#answer(result);
  }

  async #answer<T>(result: Promise<T>): Promise<T> {
    const value = await result.catch((error) => (this.#isCrashed ? never<T>() : Promise.reject(error)));
    return this.#isCrashed ? never() : value;
  }

  #die(): void {
    this.crash();
    this.onCrash?.();
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}
