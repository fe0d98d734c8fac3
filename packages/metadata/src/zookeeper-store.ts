import type { Clock } from '@daybook/runtime';
import { metadataErrors } from './errors.js';
import { checkPath, checkWritablePath, parentOf, underEphemeral } from './metadata-path.js';
import type { Expected, MetadataStore, PutOptions, PutResult, SessionState, Versioned, Watch } from './metadata-store.js';
import { checkPut } from './put-checks.js';
import { SessionListeners } from './session-listeners.js';
import { type ClientState, ZooKeeperClient, ZooKeeperFailure } from './zookeeper-client.js';
import { parseZooKeeperUrl } from './zookeeper-url.js';
import { ZooKeeperWatches } from './zookeeper-watches.js';
import { createNode, deleteNode, replaceAny, replaceVersion, unknownOutcome } from './zookeeper-writes.js';

export interface ZooKeeperOptions {
  /** `zk://host:port[,host:port]/path`; the path is made when it is missing. */
  url: string;
  clock: Clock;
  /** How long the servers keep our ephemeral values without hearing of us, and the longest an operation takes. The server may choose another one. */
  metadataSessionTimeoutMs?: number;
}

/** Connects; rejects with `METADATA_UNAVAILABLE` when no server answers within the session time-out. */
export async function openZooKeeperStore(options: ZooKeeperOptions): Promise<ZooKeeperStore> {
  const store = new ZooKeeperStore(options);
  try {
    await store.makeRoot();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}

/**
 * A {@link MetadataStore} kept by ZooKeeper.
 *
 * Session states: `connected` ⇄ `suspended` (no connection; the servers keep the session for its time-out, and longer while they are down themselves)
 * → `lost` (a server said that the session is over) → `connected` (a new one). Only a server's word ends a session, never our own clock.
 *
 * An operation waits for a connection, and begins again after a lost one, until the session time-out has passed. A write whose answer was lost is
 * settled by reading where reading can tell (zookeeper-writes.ts); otherwise `METADATA_UNAVAILABLE`.
 */
export class ZooKeeperStore implements MetadataStore {
  readonly #clock: Clock;
  readonly #servers: string;
  readonly #root: string;
  readonly #patienceMs: number;
  readonly #listeners = new SessionListeners('suspended');
  readonly #watches = new ZooKeeperWatches((path) => this.#full(path));
  readonly #waiting = new Set<{ resolve: () => void }>();
  #client: ZooKeeperClient;
  #pendingBytes = 0;

  constructor(options: ZooKeeperOptions) {
    const { servers, root } = parseZooKeeperUrl(options.url);
    this.#clock = options.clock;
    this.#servers = servers;
    this.#root = root;
    this.#patienceMs = options.metadataSessionTimeoutMs ?? 10_000;
    this.#client = this.#newClient();
  }

  get session(): SessionState {
    return this.#listeners.state;
  }

  get sessionTimeoutMs(): number {
    return this.#client.sessionTimeoutMs;
  }

  onSession(listener: (state: SessionState) => void): Watch {
    return this.#listeners.add(listener);
  }

  async get(path: string): Promise<Versioned | undefined> {
    checkPath(path);
    return await this.#perform(path, 0, async (client) => {
      const data = await absentAs(undefined, client.getData(this.#full(path)));
      return data && { value: data.value, version: data.version, ownEphemeral: data.owner.equals(client.sessionId) };
    });
  }

  async put(path: string, value: Uint8Array, expected: Expected, options: PutOptions = {}): Promise<PutResult> {
    checkPut(path, value, expected, options);
    const full = this.#full(path);
    const copy = Buffer.from(value);
    const result = await this.#perform(path, copy.length, (client, isAfterLoss) => {
      const write = { client, path: full, value: copy, isAfterLoss };
      if (expected === 'absent') return createNode(write, { isEphemeral: options.ephemeral === true, isSequential: options.sequential === true });
      if (expected === 'any') return replaceAny(write);
      return replaceVersion(write, expected);
    });
    return { path: result.path.slice(this.#root.length), version: result.version };
  }

  async delete(path: string, expected: number | 'any'): Promise<void> {
    checkWritablePath(path);
    await this.#perform(path, 0, (client, isAfterLoss) => deleteNode({ client, path: this.#full(path), isAfterLoss }, expected));
  }

  async children(path: string): Promise<string[]> {
    checkPath(path);
    const names = await this.#perform(path, 0, (client) => absentAs([], client.getChildren(this.#full(path))));
    return names.sort();
  }

  watch(path: string, listener: () => void): Watch {
    checkPath(path);
    return this.#watches.add(path, listener);
  }

  /** Ends the session; when there is no connection its ephemeral values go only after the session time-out. */
  async close(): Promise<void> {
    if (this.session === 'closed') return;
    this.#watches.close();
    this.#listeners.change('closed');
    this.#wake();
    await this.#client.close();
  }

  /** @internal Makes the path that this store was opened with. */
  async makeRoot(): Promise<void> {
    await this.#perform('/', 0, async (client) => {
      if (this.#root === '') return;
      const missing: string[] = [];
      for (let path = this.#root; path !== '/'; path = parentOf(path)) missing.push(path);
      for (const path of missing.reverse()) await existingAs(client.create(path, Buffer.alloc(0), 'persistent'));
    });
  }

  #full(path: string): string {
    return path === '/' ? this.#root || '/' : this.#root + path;
  }

  #newClient(): ZooKeeperClient {
    const client: ZooKeeperClient = new ZooKeeperClient({
      servers: this.#servers,
      sessionTimeoutMs: this.#patienceMs,
      clock: this.#clock,
      onState: (state) => this.#clientState(client, state),
    });
    return client;
  }

  #clientState(client: ZooKeeperClient, state: ClientState): void {
    if (this.session === 'closed' || client !== this.#client) return;
    if (state === 'connected') {
      this.#watches.connected(client);
      this.#listeners.change('connected');
      this.#wake();
      return;
    }
    this.#watches.disconnected();
    if (state === 'disconnected') {
      this.#listeners.change('suspended');
      return;
    }
    this.#client = this.#newClient();
    this.#listeners.change('lost');
  }

  #wake(): void {
    for (const waiter of [...this.#waiting]) waiter.resolve();
  }

  /** Runs `attempt` with a connection, again after each loss (then with `isAfterLoss`), until it is answered or the session time-out has passed. */
  async #perform<T>(path: string, bytes: number, attempt: (client: ZooKeeperClient, isAfterLoss: boolean) => Promise<T>): Promise<T> {
    if (this.#pendingBytes + bytes > pendingBytesMax)
      throw metadataErrors.UNAVAILABLE(`${this.#pendingBytes} bytes are waiting to be written already`);
    this.#pendingBytes += bytes + operationBytes;
    const deadlineMs = this.#clock.monoMs() + this.#patienceMs;
    try {
      for (let isAfterLoss = false; ; isAfterLoss = true) {
        const client = await this.#connected(deadlineMs);
        try {
          return await this.#before(deadlineMs, attempt(client, isAfterLoss));
        } catch (error) {
          if (!(error instanceof ZooKeeperFailure)) throw error;
          if (!error.isLoss) throw translate(path, error);
          if (this.session === 'closed') throw metadataErrors.CLOSED();
        }
      }
    } finally {
      this.#pendingBytes -= bytes + operationBytes;
    }
  }

  async #connected(deadlineMs: number): Promise<ZooKeeperClient> {
    while (!this.#client.isConnected && this.session !== 'closed') {
      await this.#before(deadlineMs, new Promise<void>((resolve) => this.#waitForChange(resolve, deadlineMs)));
    }
    if (this.session === 'closed') throw metadataErrors.CLOSED();
    return this.#client;
  }

  #waitForChange(resolve: () => void, deadlineMs: number): void {
    const waiter = {
      resolve: () => {
        timer.cancel();
        this.#waiting.delete(waiter);
        resolve();
      },
    };
    const timer = this.#clock.after(deadlineMs - this.#clock.monoMs(), () => this.#waiting.delete(waiter));
    this.#waiting.add(waiter);
  }

  async #before<T>(deadlineMs: number, operation: Promise<T>): Promise<T> {
    let timer: { cancel(): void } | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = this.#clock.after(Math.max(0, deadlineMs - this.#clock.monoMs()), () =>
        reject(metadataErrors.UNAVAILABLE(`no answer from ${this.#servers} within ${this.#patienceMs} ms`)),
      );
    });
    try {
      return await Promise.race([operation, late]);
    } finally {
      timer?.cancel();
    }
  }
}

/** Bytes of values waiting for an answer. */
const pendingBytesMax = 64 * 1024 * 1024;
/** What an operation counts at least, so that reads are bounded too. */
const operationBytes = 512;

async function absentAs<T, V>(value: V, operation: Promise<T>): Promise<T | V> {
  try {
    return await operation;
  } catch (error) {
    if (error instanceof ZooKeeperFailure && error.reason === 'NO_NODE') return value;
    throw error;
  }
}

async function existingAs(operation: Promise<unknown>): Promise<void> {
  try {
    await operation;
  } catch (error) {
    if (!(error instanceof ZooKeeperFailure && error.reason === 'NODE_EXISTS')) throw error;
  }
}

function translate(path: string, failure: ZooKeeperFailure): Error {
  switch (failure.reason) {
    case 'NODE_EXISTS':
      return metadataErrors.EXISTS(path, { cause: failure });
    case 'NO_NODE':
      return metadataErrors.NOT_FOUND(path, { cause: failure });
    case 'BAD_VERSION':
      return metadataErrors.BAD_VERSION(path, { cause: failure });
    case 'NOT_EMPTY':
      return metadataErrors.NOT_EMPTY(path, { cause: failure });
    case 'NO_CHILDREN_FOR_EPHEMERALS':
      return metadataErrors.BAD_PATH(path, underEphemeral, { cause: failure });
    case 'BAD_ARGUMENTS':
      return metadataErrors.BAD_PATH(path, 'the server refuses it', { cause: failure });
    case unknownOutcome:
      return metadataErrors.UNAVAILABLE(`the answer to a write of ${path} was lost, and what is there now does not tell whether it happened`);
    default:
      return metadataErrors.UNAVAILABLE(failure.message, { cause: failure });
  }
}
