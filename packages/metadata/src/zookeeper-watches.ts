import type { Watch } from './metadata-store.js';
import { WatchTable } from './watch-table.js';
import type { ZooKeeperClient } from './zookeeper-client.js';

/**
 * Lasting watches out of ZooKeeper's one-shot ones. A path is armed when the server holds a watch for its value and one for its children. After each
 * event, and after each reconnect, it is armed again first and the listeners are called then: what they read is newer than the watch, nothing is missed.
 */
export class ZooKeeperWatches {
  readonly #table = new WatchTable();
  readonly #states = new Map<string, 'arming' | 'arming-again' | 'armed'>();
  readonly #fullPath: (path: string) => string;
  #client: ZooKeeperClient | undefined;

  constructor(fullPath: (path: string) => string) {
    this.#fullPath = fullPath;
  }

  add(path: string, listener: () => void): Watch {
    const watch = this.#table.add(path, listener);
    if (this.#client !== undefined && !this.#states.has(path)) this.#arm(path, this.#client);
    return watch;
  }

  /** A connection is there, the old one again or a new session: everything watched may have changed meanwhile. */
  connected(client: ZooKeeperClient): void {
    this.#client = client;
    this.#states.clear();
    for (const path of this.#table.paths()) this.#arm(path, client);
  }

  disconnected(): void {
    this.#client = undefined;
    this.#states.clear();
  }

  close(): void {
    this.disconnected();
    this.#table.clear();
  }

  #arm(path: string, client: ZooKeeperClient): void {
    this.#states.set(path, 'arming');
    const onEvent = () => this.#fired(path, client);
    const full = this.#fullPath(path);
    const value = client.watchValue(full, onEvent);
    // Without such a path there is nothing to hold the second watch; its creation fires the first one.
    const children = client.watchChildren(full, onEvent).catch((failure: { reason?: string }) => {
      if (failure.reason !== 'NO_NODE') throw failure;
    });
    Promise.all([value, children]).then(
      () => this.#isArmed(path, client),
      // The connection went, and with it all watches: the next one arms them again.
      () => undefined,
    );
  }

  #isArmed(path: string, client: ZooKeeperClient): void {
    if (this.#client !== client) return;
    const fired = this.#states.get(path) === 'arming-again';
    this.#states.set(path, 'armed');
    if (fired) this.#fired(path, client);
    else this.#table.notify(path);
  }

  #fired(path: string, client: ZooKeeperClient): void {
    if (this.#client !== client || !client.isConnected) return;
    if (!this.#table.has(path)) this.#states.delete(path);
    else if (this.#states.get(path) === 'armed') this.#arm(path, client);
    else this.#states.set(path, 'arming-again');
  }
}
