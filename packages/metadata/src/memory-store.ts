import type { Clock, Random } from '@daybook/runtime';
import { invariant } from '@daybook/runtime';
import { metadataErrors } from './errors.js';
import { checkPath, checkWritablePath } from './metadata-path.js';
import type { Expected, MetadataStore, PutOptions, PutResult, SessionState, Versioned, Watch } from './metadata-store.js';
import { MetadataTree, type TreeChange } from './metadata-tree.js';
import { checkPut } from './put-checks.js';
import { SessionListeners } from './session-listeners.js';
import { WatchTable } from './watch-table.js';

/** What may go wrong between a session and the tree. Chances are in 1/1000 per operation; all 0 by default, then nothing waits for the clock. */
export interface MemoryFaults {
  /** The longest a request takes to arrive, and the longest its reply takes; drawn uniformly. Operations of one session stay in order. */
  delayMsMax: number;
  /** The request never arrives: nothing happens, the caller gets `METADATA_UNAVAILABLE`. */
  lostRequests: number;
  /** The operation happens but the caller gets `METADATA_UNAVAILABLE`. */
  lostReplies: number;
  /** The longest a watch call is held back. */
  watchDelayMsMax: number;
}

export const noFaults: MemoryFaults = { delayMsMax: 0, lostRequests: 0, lostReplies: 0, watchDelayMsMax: 0 };

export interface MemorySessionOptions {
  clock: Clock;
  /** Needed as soon as any fault is on. */
  random?: Random;
  faults?: Partial<MemoryFaults>;
  /** How long a suspended session keeps its ephemeral values. */
  sessionTimeoutMs?: number;
}

/** The tree that several sessions share: what a ZooKeeper ensemble is to its clients. */
export class MemoryTree {
  readonly tree = new MetadataTree();
  readonly #sessions = new Set<MemoryStore>();
  #lastOwner = 0;
  #isAway = false;

  get isAway(): boolean {
    return this.#isAway;
  }

  /** As when all servers are down: nothing is answered, and no session ends. */
  goAway(): void {
    this.#isAway = true;
    for (const session of this.#sessions) session.storeWentAway();
  }

  /** Each session has its whole time-out again; those of processes that are there go on. */
  comeBack(): void {
    this.#isAway = false;
    for (const session of [...this.#sessions]) session.storeCameBack();
  }

  openSession(options: MemorySessionOptions): MemoryStore {
    const session = new MemoryStore(this, options);
    this.#sessions.add(session);
    return session;
  }

  /** @internal A number for a new session. */
  nextOwner(): number {
    this.#lastOwner += 1;
    return this.#lastOwner;
  }

  /** @internal Tells every session what changed. */
  publish(changes: readonly TreeChange[]): void {
    if (changes.length === 0) return;
    for (const session of this.#sessions) session.treeChanged(changes);
  }

  /** @internal */
  endOwner(owner: number): void {
    const changes: TreeChange[] = [];
    this.tree.deleteOwnedBy(owner, changes);
    this.publish(changes);
  }

  /** @internal */
  forget(session: MemoryStore): void {
    this.#sessions.delete(session);
  }
}

/** One client of a {@link MemoryTree}, with faults that tests and the simulator switch on. Deterministic under a simulated clock and a seeded random. */
export class MemoryStore implements MetadataStore {
  readonly sessionTimeoutMs: number;
  readonly #shared: MemoryTree;
  readonly #clock: Clock;
  readonly #random: Random | undefined;
  readonly #listeners: SessionListeners;
  readonly #watches: WatchTable;
  #faults: MemoryFaults;
  #owner: number;
  /** When the last request sent arrives: the next one is not allowed to overtake it. */
  #lastArrivalMs = 0;
  /** The process cannot reach the store; or is dead. */
  #isCut = false;
  #expiry: { cancel(): void } | undefined;
  /** The tree has ended the session, and this side does not know yet. */
  #hasExpired = false;

  constructor(shared: MemoryTree, options: MemorySessionOptions) {
    this.#shared = shared;
    this.#clock = options.clock;
    this.#random = options.random;
    this.sessionTimeoutMs = options.sessionTimeoutMs ?? 10_000;
    this.#faults = { ...noFaults, ...options.faults };
    this.#owner = shared.nextOwner();
    this.#listeners = new SessionListeners(shared.isAway ? 'suspended' : 'connected');
    this.#watches = new WatchTable((task) => this.#deliver(task));
  }

  get session(): SessionState {
    return this.#listeners.state;
  }

  onSession(listener: (state: SessionState) => void): Watch {
    return this.#listeners.add(listener);
  }

  setFaults(faults: Partial<MemoryFaults>): void {
    this.#faults = { ...this.#faults, ...faults };
  }

  /** Cuts the connection. After the session time-out the tree drops the ephemeral values; this side learns of that in {@link resume}. */
  suspend(): void {
    if (this.session === 'closed' || this.#isCut) return;
    this.#isCut = true;
    this.#listeners.change('suspended');
    this.#startExpiry();
  }

  /** Ends a cut: the old session goes on when it is still in time, otherwise it is lost and a new one begins. */
  resume(): void {
    if (this.session === 'closed' || !this.#isCut) return;
    this.#isCut = false;
    if (!this.#shared.isAway) this.#reachable();
  }

  /** The tree ends the session at once: its ephemeral values vanish, `lost`, then a new session begins. */
  expire(): void {
    if (this.session === 'closed' || this.#shared.isAway) return;
    this.#stopExpiry();
    this.#isCut = false;
    this.#hasExpired = false;
    this.#shared.endOwner(this.#owner);
    this.#owner = this.#shared.nextOwner();
    this.#listeners.change('lost');
    this.#reconnected();
  }

  async get(path: string): Promise<Versioned | undefined> {
    checkPath(path);
    return await this.#perform((owner) => {
      const node = this.#shared.tree.get(path);
      return node && { value: Buffer.from(node.value), version: node.version, ownEphemeral: node.owner === owner };
    });
  }

  async put(path: string, value: Uint8Array, expected: Expected, options: PutOptions = {}): Promise<PutResult> {
    checkPut(path, value, expected, options);
    const copy = Buffer.from(value);
    return await this.#perform((owner) => {
      const changes: TreeChange[] = [];
      const result = this.#shared.tree.put(path, copy, expected, { ...options, owner }, changes);
      this.#shared.publish(changes);
      return result;
    });
  }

  async delete(path: string, expected: number | 'any'): Promise<void> {
    checkWritablePath(path);
    await this.#perform(() => {
      const changes: TreeChange[] = [];
      this.#shared.tree.delete(path, expected, changes);
      this.#shared.publish(changes);
    });
  }

  async children(path: string): Promise<string[]> {
    checkPath(path);
    return await this.#perform(() => this.#shared.tree.children(path));
  }

  watch(path: string, listener: () => void): Watch {
    checkPath(path);
    return this.#watches.add(path, listener);
  }

  close(): Promise<void> {
    if (this.session === 'closed') return Promise.resolve();
    this.#stopExpiry();
    this.#watches.clear();
    this.#listeners.change('closed');
    if (!this.#shared.isAway) this.#end();
    return Promise.resolve();
  }

  /** @internal Called by the tree. A cut session hears nothing; {@link resume} wakes all its watches. */
  treeChanged(changes: readonly TreeChange[]): void {
    if (this.session === 'connected') this.#watches.changed(changes);
  }

  /** @internal */
  storeWentAway(): void {
    this.#stopExpiry();
    this.#listeners.change('suspended');
  }

  /** @internal */
  storeCameBack(): void {
    if (this.#isCut || this.session === 'closed') this.#startExpiry();
    else this.#reachable();
  }

  #reachable(): void {
    this.#stopExpiry();
    if (this.#hasExpired) this.expire();
    else this.#reconnected();
  }

  #startExpiry(): void {
    if (this.#shared.isAway || this.#hasExpired) return;
    this.#expiry = this.#clock.after(this.sessionTimeoutMs, () => {
      this.#expiry = undefined;
      this.#hasExpired = true;
      if (this.session === 'closed') this.#end();
      else this.#shared.endOwner(this.#owner);
    });
  }

  #stopExpiry(): void {
    this.#expiry?.cancel();
    this.#expiry = undefined;
  }

  #end(): void {
    this.#shared.forget(this);
    this.#shared.endOwner(this.#owner);
  }

  #reconnected(): void {
    this.#listeners.change('connected');
    this.#watches.notifyAll();
  }

  #deliver(task: () => void): void {
    const delayMs = this.#draw(this.#faults.watchDelayMsMax);
    if (delayMs === 0) queueMicrotask(task);
    else this.#clock.after(delayMs, task);
  }

  async #perform<T>(operation: (owner: number) => T): Promise<T> {
    this.#checkOpen();
    const owner = this.#owner;
    await this.#arrive();
    this.#checkOpen();
    if (this.session !== 'connected' || owner !== this.#owner) throw metadataErrors.UNAVAILABLE('the connection is cut');
    if (this.#happens(this.#faults.lostRequests)) throw metadataErrors.UNAVAILABLE('the request was lost');
    const isReplyLost = this.#happens(this.#faults.lostReplies);
    const result = settle(() => operation(owner));
    const replyDelayMs = this.#draw(this.#faults.delayMsMax);
    if (replyDelayMs > 0) await this.#clock.sleep(replyDelayMs);
    this.#checkOpen();
    if (isReplyLost || owner !== this.#owner) throw metadataErrors.UNAVAILABLE('the reply was lost');
    if (this.session !== 'connected') throw metadataErrors.UNAVAILABLE('the connection was cut before the reply');
    if ('error' in result) throw result.error;
    return result.value;
  }

  async #arrive(): Promise<void> {
    const nowMs = this.#clock.monoMs();
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, nowMs + this.#draw(this.#faults.delayMsMax));
    if (this.#lastArrivalMs > nowMs) await this.#clock.sleep(this.#lastArrivalMs - nowMs);
  }

  #checkOpen(): void {
    if (this.session === 'closed') throw metadataErrors.CLOSED();
  }

  #draw(max: number): number {
    if (max === 0) return 0;
    invariant(this.#random !== undefined, 'faults need a Random');
    return this.#random.u32() % (max + 1);
  }

  #happens(chanceIn1000: number): boolean {
    return chanceIn1000 > 0 && this.#draw(999) < chanceIn1000;
  }
}

type Settled<T> = { value: T } | { error: unknown };

function settle<T>(operation: () => T): Settled<T> {
  try {
    return { value: operation() };
  } catch (error) {
    return { error };
  }
}
