import type { BookieId, EntryId } from './ids.js';

export type LedgerState = 'OPEN' | 'IN_RECOVERY' | 'CLOSED';
export type DigestType = 'CRC32' | 'HMAC' | 'CRC32C' | 'DUMMY';

/** A run of entries written with one ensemble. */
export interface LedgerSegment {
  readonly firstEntryId: EntryId;
  /** `ensembleSize` different bookies; their order matters (distribution.ts in `ledger`). */
  readonly ensemble: readonly BookieId[];
}

/** A ledger as the metadata store knows it (reference: BookKeeper's LedgerMetadataFormat). Values are replaced, never changed. */
export interface LedgerMetadata {
  /** The serialisation it came in, kept on rewrite: 1, 2 or 3 (new records: 3). */
  readonly formatVersion: 1 | 2 | 3;
  readonly ensembleSize: number;
  readonly writeQuorumSize: number;
  readonly ackQuorumSize: number;
  readonly state: LedgerState;
  /** Bytes of all payloads; 0 until closed. */
  readonly length: number;
  /** -1 until closed, and for a closed empty ledger. */
  readonly lastEntryId: EntryId;
  /** Ascending; the first one begins at entry 0. */
  readonly segments: readonly LedgerSegment[];
  readonly digestType: DigestType;
  readonly password: Uint8Array;
  /**
   * Set for records that do not name digest and password (format 1, very old ones): the two fields above are then only a guess, and are not written. Whoever
   * opens such a ledger must be told both.
   */
  readonly namesNoDigest?: true;
  /** When it was created, milliseconds since the epoch; undefined in records that do not say. */
  readonly createdAtMs: number | undefined;
  readonly customMetadata: ReadonlyMap<string, Uint8Array>;
  /** Random at creation, so that a creator recognises its own record after a lost reply; 0n later. */
  readonly creationToken: bigint;
}
