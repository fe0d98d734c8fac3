/**
 * What the cluster agrees on: a tree of small values, each with a version that every write must name. Implementations (memory, embedded,
 * ZooKeeper) pass the one suite in `conformance.ts`.
 *
 * Paths are absolute, `/`-separated, without empty or dot parts, relative to the root the store was opened with. `paths.ts` is the only file that spells them.
 * Every method rejects with a `metadataErrors` error; `METADATA_UNAVAILABLE` leaves open whether a write happened: read again and compare before trying again.
 */
export interface MetadataStore {
  /** The value and its version, or undefined when there is none. */
  get(path: string): Promise<Versioned | undefined>;
  /**
   * Writes a value; missing parents are made (with empty values). Rejects with `METADATA_EXISTS` (expected `absent`), `METADATA_BAD_VERSION`
   * (other version, or not there at all).
   */
  put(path: string, value: Uint8Array, expected: Expected, options?: PutOptions): Promise<PutResult>;
  /** Removes a value without children. Rejects with `METADATA_NOT_FOUND`, `METADATA_BAD_VERSION`, `METADATA_NOT_EMPTY`. */
  delete(path: string, expected: number | 'any'): Promise<void>;
  /** Names (not paths) of the direct children, sorted; empty when the path has none or does not exist. Complete, or it rejects. */
  children(path: string): Promise<string[]>;
  /**
   * Calls `listener` soon after each change of the value at `path`, of its existence, or of the set of its direct children; several changes may be
   * one call, and a call may come without a change (after a reconnect): always read again. Lasts until `stop()`.
   */
  watch(path: string, listener: () => void): Watch;
  /** Whether ephemeral values of this store are held: `connected`; `suspended` (connection lost, may come back in time); `lost` (they are gone). */
  readonly session: SessionState;
  /** How long the store keeps ephemeral values of a process that it does not hear of: as the two agreed, which may be longer than what was asked for. */
  readonly sessionTimeoutMs: number;
  /** Called on each change of {@link session}. After `lost` a new session begins by itself (`connected` again), without the old ephemeral values. */
  onSession(listener: (state: SessionState) => void): Watch;
  /** Ends the session: its ephemeral values are removed. */
  close(): Promise<void>;
}

export type SessionState = 'connected' | 'suspended' | 'lost' | 'closed';

export interface Versioned {
  value: Buffer;
  /** Starts at 0, +1 with each write. */
  version: number;
  /** True when the value belongs to this store's own session. */
  ownEphemeral: boolean;
}

/** `absent`: must not exist; a number: must have that version; `any`: replace whatever is there or create it. */
export type Expected = number | 'absent' | 'any';

export interface PutOptions {
  /** Removed when the session that made it ends. Only with `absent`. */
  ephemeral?: boolean;
  /** Appends a ten-digit number, higher than any before under that parent, to the path. Only with `absent`. */
  sequential?: boolean;
}

export interface PutResult {
  /** The path written (with its number when sequential). */
  path: string;
  version: number;
}

export interface Watch {
  stop(): void;
}
