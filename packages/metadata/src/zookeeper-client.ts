import type { Socket } from 'node:net';
import type { Clock, Timer } from '@daybook/runtime';
// @ts-expect-error: the library has no type declarations; what we use of it is described below.
import library from 'node-zookeeper-client';

/**
 * One ZooKeeper session through node-zookeeper-client, the only file that knows the library. It adds what the library lacks (version 1.1.3):
 * - a dead connection is noticed: the library sends pings but never looks for the answers, nor for an answer to its first message;
 * - what was queued when the connection broke is answered with a loss, instead of being sent later, when its caller has long been told otherwise;
 * - replies are cut into frames here: the library recurses once per reply in a chunk, copies the rest each time, keeps half a frame over a
 *   reconnect, and throws out of the socket handler at an error code it does not know;
 * - watches are not re-registered by the library (one big message that the server may refuse): the store does that, path by path;
 * - closing works in every state, and the request number wraps.
 * A session that expired stays dead: the store opens a new one.
 */
export class ZooKeeperClient {
  readonly #clock: Clock;
  readonly #client: LibraryClient;
  readonly #onState: (state: ClientState) => void;
  readonly #outstanding = new Set<(failure: ZooKeeperFailure) => void>();
  #state: ClientState | 'connecting' | 'ended' = 'connecting';
  #lastHeardMs: number;
  #lastTickMs: number;
  #watchdog: Timer | undefined;
  #onClosed: (() => void) | undefined;

  constructor(options: { servers: string; sessionTimeoutMs: number; clock: Clock; onState: (state: ClientState) => void }) {
    this.#clock = options.clock;
    this.#onState = options.onState;
    this.#lastHeardMs = this.#lastTickMs = this.#clock.monoMs();
    this.#client = library.createClient(options.servers, { sessionTimeout: options.sessionTimeoutMs, spinDelay: reconnectDelayMsMax, retries: 0 });
    this.#repair(this.#client.connectionManager);
    this.#client.on('state', (state) => this.#libraryState(state));
    this.#client.connect();
    this.#watch();
  }

  get isConnected(): boolean {
    return this.#state === 'connected';
  }

  get sessionId(): Buffer {
    return this.#client.getSessionId();
  }

  /** What the servers granted; until then what was asked for. */
  get sessionTimeoutMs(): number {
    return this.#client.getSessionTimeout();
  }

  create(path: string, value: Buffer, kind: NodeKind): Promise<string> {
    return this.#call((done) => this.#client.create(path, value, modes[kind], done));
  }

  async setData(path: string, value: Buffer, version: number): Promise<number> {
    const stat = await this.#call<LibraryStat>((done) => this.#client.setData(path, value, version, done));
    return stat.version;
  }

  remove(path: string, version: number): Promise<void> {
    return this.#call((done) => this.#client.remove(path, version, done));
  }

  getData(path: string): Promise<NodeData> {
    return new Promise((resolve, reject) => {
      const settle = this.#track(reject);
      if (settle === undefined) return;
      this.#client.getData(path, (error, data, stat) => {
        settle();
        if (error) reject(failureOf(error));
        else
          resolve({
            value: data === undefined || data === null ? Buffer.alloc(0) : Buffer.from(data),
            version: stat.version,
            owner: stat.ephemeralOwner,
          });
      });
    });
  }

  /** Leaves a watch for the coming, changing and going of the value. */
  async watchValue(path: string, onEvent: () => void): Promise<void> {
    await this.#call((done) => this.#client.exists(path, onEvent, done));
  }

  /** Leaves a watch for the set of children; fails with `NO_NODE` when there is no such path. */
  async watchChildren(path: string, onEvent: () => void): Promise<void> {
    await this.#call((done) => this.#client.getChildren(path, onEvent, done));
  }

  getChildren(path: string): Promise<string[]> {
    return this.#call((done) => this.#client.getChildren(path, done));
  }

  /** Ends the session (its ephemeral values go) when connected, or at least this side of it. */
  async close(): Promise<void> {
    if (this.#state === 'ended') return;
    const wasConnected = this.#state === 'connected';
    const { connectionManager: manager } = this.#client;
    this.#state = 'ended';
    this.#watchdog?.cancel();
    this.#failOutstanding();
    if (!wasConnected) return this.#abandon(manager);
    const closed = new Promise<void>((resolve) => {
      this.#onClosed = resolve;
    });
    this.#client.close();
    const timer = this.#clock.after(closeWaitMsMax, () => this.#abandon(manager));
    await closed;
    timer.cancel();
  }

  #call<T>(start: (done: (error: unknown, result: T) => void) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const settle = this.#track(reject);
      if (settle === undefined) return;
      start((error, result) => {
        settle();
        if (error) reject(failureOf(error));
        else resolve(result);
      });
    });
  }

  /** Nothing is handed to the library without a connection: it would keep it for the next one. */
  #track(reject: (failure: ZooKeeperFailure) => void): (() => void) | undefined {
    if (this.#state !== 'connected') {
      reject(new ZooKeeperFailure('CONNECTION_LOSS'));
      return undefined;
    }
    const manager = this.#client.connectionManager;
    if (manager.xid > requestNumberMax) manager.xid = 1;
    this.#outstanding.add(reject);
    return () => this.#outstanding.delete(reject);
  }

  #failOutstanding(): void {
    this.#client.connectionManager.packetQueue.queue.length = 0;
    const outstanding = [...this.#outstanding];
    this.#outstanding.clear();
    for (const reject of outstanding) reject(new ZooKeeperFailure('CONNECTION_LOSS'));
  }

  #libraryState(state: unknown): void {
    if (this.#state === 'ended') return;
    if (state === library.State.SYNC_CONNECTED) this.#change('connected');
    else if (state === library.State.EXPIRED || state === library.State.AUTH_FAILED) {
      this.#watchdog?.cancel();
      this.#change('expired');
      this.#abandon(this.#client.connectionManager);
    } else this.#change('disconnected');
  }

  #change(state: ClientState): void {
    if (this.#state === state || this.#state === 'expired') return;
    const wasConnecting = this.#state === 'connecting';
    this.#state = state;
    if (state !== 'connected') this.#failOutstanding();
    if (!(wasConnecting && state === 'disconnected')) this.#onState(state);
  }

  #repair(manager: LibraryManager): void {
    const { onSocketConnected, onSocketData, onSocketClosed } = manager;
    let frames = new FrameCutter();
    manager.onSocketConnected = () => {
      if (this.#state === 'ended' || this.#state === 'expired') {
        manager.socket?.destroy();
        return;
      }
      frames = new FrameCutter();
      this.#lastHeardMs = this.#clock.monoMs();
      const watchers = manager.watcherManager;
      watchers.dataWatchers = {};
      watchers.childWatchers = {};
      watchers.existenceWatchers = {};
      onSocketConnected.call(manager);
    };
    manager.onSocketData = (chunk) => {
      this.#lastHeardMs = this.#clock.monoMs();
      try {
        for (const frame of frames.push(chunk)) {
          if (manager.socket?.destroyed === true) return;
          onSocketData.call(manager, frame);
        }
      } catch {
        // Not ZooKeeper's protocol, or a code from a newer server: begin again with a new connection; what is outstanding counts as lost.
        manager.socket?.destroy();
      }
    };
    manager.onSocketClosed = (hadError) => {
      onSocketClosed.call(manager, hadError);
      this.#onClosed?.();
    };
  }

  /** Ends the library's side for good: its `close` alone fails without a socket, and its connect timer would open another one. */
  #abandon(manager: LibraryManager): void {
    manager.state = closingState;
    clearTimeout(manager.connectTimeoutHandler ?? undefined);
    manager.socket?.destroy();
    this.#onClosed?.();
  }

  /** Cuts a connection on which nothing came for two thirds of the session time-out, pings being answered each third. */
  #watch(): void {
    const intervalMs = Math.max(20, Math.floor(this.#client.getSessionTimeout() / 6));
    this.#watchdog = this.#clock.after(intervalMs, () => {
      const nowMs = this.#clock.monoMs();
      const socket = this.#client.connectionManager.socket;
      // When this process itself stood still, answers may be waiting to be read: look again after one more round.
      const wasAwake = nowMs - this.#lastTickMs < intervalMs * 2;
      const isSilent = nowMs - this.#lastHeardMs > (this.#client.getSessionTimeout() * 2) / 3;
      this.#lastTickMs = nowMs;
      if (wasAwake && isSilent && socket !== undefined && !socket.connecting) socket.destroy();
      this.#watch();
    });
  }
}

export type ClientState = 'connected' | 'disconnected' | 'expired';
export type NodeKind = 'persistent' | 'ephemeral' | 'persistentSequential' | 'ephemeralSequential';

export interface NodeData {
  value: Buffer;
  version: number;
  /** The session that holds it, all zero when it stays. */
  owner: Buffer;
}

/** An answer of ZooKeeper other than success, by its name in the protocol (`NO_NODE`), or the loss of the connection before the answer. */
export class ZooKeeperFailure extends Error {
  readonly reason: string;
  constructor(reason: string, cause?: unknown) {
    super(`ZooKeeper says ${reason}`, { cause });
    this.reason = reason;
  }

  /** The connection or the session ended first: whether it happened is not known. */
  get isLoss(): boolean {
    return this.reason === 'CONNECTION_LOSS' || this.reason === 'SESSION_EXPIRED' || this.reason === 'OPERATION_TIMEOUT';
  }
}

const modes: Record<NodeKind, number> = { persistent: 0, ephemeral: 1, persistentSequential: 2, ephemeralSequential: 3 };
/** The library waits a random part of this before it tries the servers again. */
const reconnectDelayMsMax = 250;
const closeWaitMsMax = 2_000;
const requestNumberMax = 0x7f00_0000;
const frameBytesMax = 128 * 1024 * 1024;
/** CLOSING in the library: the only state in which it does not connect again. */
const closingState = -1;

function failureOf(error: unknown): ZooKeeperFailure {
  const name = (error as { name?: unknown } | undefined)?.name;
  return new ZooKeeperFailure(typeof name === 'string' ? name : String(error), error);
}

/** Cuts what comes from the socket into whole frames (4 bytes of length, big-endian, then so many bytes). */
export class FrameCutter {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wantedBytes = 4;

  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < this.#wantedBytes) return [];
    const all = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#bytes);
    const frames: Buffer[] = [];
    let position = 0;
    this.#wantedBytes = 4;
    while (all.length - position >= 4) {
      const bodyBytes = all.readInt32BE(position);
      if (bodyBytes < 0 || bodyBytes > frameBytesMax) throw new RangeError(`a frame of ${bodyBytes} bytes`);
      if (all.length - position < 4 + bodyBytes) {
        this.#wantedBytes = 4 + bodyBytes;
        break;
      }
      frames.push(all.subarray(position, position + 4 + bodyBytes));
      position += 4 + bodyBytes;
    }
    const rest = all.subarray(position);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    return frames;
  }
}

type Done<T> = (error: unknown, result: T) => void;

interface LibraryStat {
  version: number;
  ephemeralOwner: Buffer;
}

interface LibraryManager {
  socket?: Socket;
  state: number;
  xid: number;
  connectTimeoutHandler: NodeJS.Timeout | null;
  packetQueue: { queue: unknown[] };
  watcherManager: Record<'dataWatchers' | 'childWatchers' | 'existenceWatchers', object>;
  onSocketConnected(): void;
  onSocketData(chunk: Buffer): void;
  onSocketClosed(hadError: boolean): void;
}

interface LibraryClient {
  readonly connectionManager: LibraryManager;
  on(event: 'state', listener: (state: unknown) => void): void;
  connect(): void;
  close(): void;
  getSessionId(): Buffer;
  getSessionTimeout(): number;
  create(path: string, value: Buffer, mode: number, done: Done<string>): void;
  setData(path: string, value: Buffer, version: number, done: Done<LibraryStat>): void;
  remove(path: string, version: number, done: Done<void>): void;
  getData(path: string, done: (error: unknown, data: Buffer | undefined | null, stat: LibraryStat) => void): void;
  exists(path: string, watcher: () => void, done: Done<unknown>): void;
  getChildren(path: string, watcher: () => void, done: Done<string[]>): void;
  getChildren(path: string, done: Done<string[]>): void;
}
