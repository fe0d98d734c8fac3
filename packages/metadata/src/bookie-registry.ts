import type { BookieId } from '@daybook/proto';

/** A bookie that is up, as it registered itself. */
export interface RegisteredBookie {
  bookieId: BookieId;
  /** Where its gRPC service listens, `host:port`; empty when it runs in this process. */
  address: string;
  /** Where its HTTP service listens, `host:port`; empty without one. */
  httpAddress: string;
  /** Identity of its disks, new whenever they are formatted: another incarnation under the same id is another bookie. */
  incarnation: string;
  isWritable: boolean;
}

/** Who is up. Kept current by watches; `list` answers from memory. */
export interface BookieRegistry {
  /** All bookies known to be up right now, sorted by id. */
  list(): readonly RegisteredBookie[];
  get(bookieId: BookieId): RegisteredBookie | undefined;
  /** Called after each change of the list. */
  onChange(listener: () => void): { stop(): void };
  close(): void;
}
