/** How a ledger client behaves; the defaults suit. Times in milliseconds. */
export interface LedgerClientOptions {
  /** A bookie that does not answer a batch for this long counts as failed. Default 5,000. */
  addEntryTimeoutMs: number;
  /** An append that cannot be acknowledged for this long (too few bookies are up) fails the writer. Default 30,000. */
  appendQuorumTimeoutMs: number;
  /** Per writer: bytes pushed and not yet acknowledged by every live bookie. Default 16 MiB. */
  windowBytes: number;
  /** A bookie that is behind the others by this many confirmed bytes (and a second) counts as failed. Default half the window. */
  lagBytesMax: number;
  /** A second replica is asked when the first has not answered a read for this long. Default 2,000. */
  speculativeReadDelayMs: number;
  /** Entries read from bookies in one request. Default 1 MiB. */
  readBatchBytes: number;
}

export const defaultLedgerClientOptions: LedgerClientOptions = {
  addEntryTimeoutMs: 5_000,
  appendQuorumTimeoutMs: 30_000,
  windowBytes: 16 * 1024 * 1024,
  lagBytesMax: 8 * 1024 * 1024,
  speculativeReadDelayMs: 2_000,
  readBatchBytes: 1024 * 1024,
};

/** Not an option: what tells a slow bookie from a hiccup. */
export const lagMsMax = 1_000;
