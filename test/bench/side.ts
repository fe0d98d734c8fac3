import type { TurnWorker } from './turn-worker.js';

/** One of the two that are compared: ZooKeeper, bookies, and a way to start ledger clients. */
export interface Side {
  readonly name: string;
  /** A new ledger client, as a process. */
  worker(): TurnWorker;
  /** Kills the bookie that an ensemble names so. */
  killBookie(name: string): Promise<void>;
  /** Starts all that are down. */
  startBookies(): Promise<void>;
  /** Restarts all bookies, with nothing of their entry logs and journals in the page cache. */
  coolDown(): Promise<void>;
  end(): Promise<void>;
}
