import type { Watch } from './metadata-store.js';
import { WatchTable } from './watch-table.js';
import type { ZooKeeperClient } from './zookeeper-client.js';

/**
 * Lasting watches out of ZooKeeper's one-shot ones. A path is armed when the server holds a watch for its value and one for its children. After each
 * event, and after each reconnect, it is armed again first and the listeners are called then: what they read is newer than the watch, nothing is missed.
 */
export class ZooKeeperWatches {
  readonly #table = new WatchTable();
  readonly #armed = new Map<string, Armed>();
  readonly #fullPath: (path: string) => string;
  #client: ZooKeeperClient | undefined;

  constructor(fullPath: (path: string) => string) {
    this.#fullPath = fullPath;
  }

  add(path: string, listener: () => void): Watch {
    const watch = this.#table.add(path, listener);
    if (this.#client !== undefined && !this.#armed.has(path)) this.#begin(path, this.#client);
    return watch;
  }

  /** A connection is there, the old one again or a new session: everything watched may have changed meanwhile. */
  connected(client: ZooKeeperClient): void {
    this.#client = client;
    this.#armed.clear();
    for (const path of this.#table.paths()) this.#begin(path, client);
  }

  disconnected(): void {
    this.#client = undefined;
    this.#armed.clear();
  }

  close(): void {
    this.disconnected();
    this.#table.clear();
  }

  #begin(path: string, client: ZooKeeperClient): void {
    const armed: Armed = { path, client, state: 'arming', onEvent: () => this.#fired(armed) };
    this.#armed.set(path, armed);
    this.#arm(armed);
  }

  #arm(armed: Armed): void {
    armed.state = 'arming';
    const full = this.#fullPath(armed.path);
    const value = armed.client.watchValue(full, armed.onEvent);
    // Without such a path there is nothing to hold the second watch; its creation fires the first one.
    const children = armed.client.watchChildren(full, armed.onEvent).catch((failure: { reason?: string }) => {
      if (failure.reason !== 'NO_NODE') throw failure;
    });
    Promise.all([value, children]).then(
      () => this.#isArmed(armed),
      // The connection went, and with it all watches: the next one arms them again.
      () => undefined,
    );
  }

  #isArmed(armed: Armed): void {
    if (this.#armed.get(armed.path) !== armed) return;
    const hasFired = armed.state === 'arming-again';
    armed.state = 'armed';
    if (hasFired) this.#fired(armed);
    else this.#table.notify(armed.path);
  }

  #fired(armed: Armed): void {
    if (this.#armed.get(armed.path) !== armed || !armed.client.isConnected) return;
    if (!this.#table.has(armed.path)) this.#armed.delete(armed.path);
    else if (armed.state === 'armed') this.#arm(armed);
    else armed.state = 'arming-again';
  }
}

/** A path watched over one connection. Its one `onEvent` serves all its watches, because the library keeps one of the same function only. */
interface Armed {
  readonly path: string;
  readonly client: ZooKeeperClient;
  state: 'arming' | 'arming-again' | 'armed';
  readonly onEvent: () => void;
}
