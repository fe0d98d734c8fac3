import type { DigestType, LedgerState } from '../ledger-metadata.js';

/** A record as it was parsed, before it was found to be legal. */
export interface RawLedgerMetadata {
  ensembleSize?: number;
  writeQuorumSize?: number;
  ackQuorumSize?: number;
  length?: number;
  lastEntryId?: number;
  state?: LedgerState;
  segments: { firstEntryId: number; ensemble: string[] }[];
  digestType?: DigestType;
  password?: Uint8Array;
  createdAtMs?: number;
  customMetadata: Map<string, Uint8Array>;
  creationToken?: bigint;
}

/** Persisted numbers of LedgerMetadataFormat. */
export const stateNumbers: Readonly<Record<LedgerState, number>> = { OPEN: 1, IN_RECOVERY: 2, CLOSED: 3 };
export const digestNumbers: Readonly<Record<DigestType, number>> = { CRC32: 1, HMAC: 2, CRC32C: 3, DUMMY: 4 };
