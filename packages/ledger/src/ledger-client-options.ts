/** How a ledger client behaves; the defaults suit. Times in milliseconds. Names are BookKeeper's where the meaning is the same. */
export interface LedgerClientOptions {
  /** A bookie that does not answer a batch for this long counts as failed. Default 5,000. */
  addEntryTimeoutMs: number;
  /** An append that cannot be acknowledged for this long (too few bookies are up) fails the writer. Default 30,000. */
  addEntryQuorumTimeoutMs: number;
  /** Per writer: bytes pushed and not yet acknowledged by every live bookie. Default 16 MiB. */
  windowBytes: number;
  /** Per writer: bytes of callers that wait in `append` because the window is full; beyond it they are refused with `LEDGER_OVERLOADED`. Default 16 MiB. */
  waitingAppendBytesMax: number;
  /** A bookie that is behind the others by this many confirmed bytes (and a second) counts as failed. Default half the window. */
  lagBytesMax: number;
  /** A writer whose newest entries tell less than its last-add-confirmed tells it by itself, this long after it moved. 0, the default: never. */
  explicitLacInterval: number;

  /** A failed bookie keeps its place while Qa of each write set are left; only one that is read-only is replaced at once. Default false. */
  delayEnsembleChange: boolean;
  /** A ledger that needs more ensemble changes fails. Default: unlimited. */
  maxAllowedEnsembleChanges: number;
  /** The operator's switch: no ensemble change at all, failed bookies are waited for. A function is asked each time. Default false. */
  disableEnsembleChange: boolean | (() => boolean);
  /** Create with a smaller ensemble, down to the write quorum, when fewer bookies are up. Default false. */
  opportunisticStriping: boolean;

  /** Each write quorum spans as many racks, where there are so many. Default 2. */
  minNumRacksPerWriteQuorum: number;
  /** `LEDGER_NOT_ENOUGH_BOOKIES` rather than a write quorum in fewer racks. Default false. */
  enforceMinNumRacksPerWriteQuorum: boolean;
  /** An entry is acknowledged only when those who have it stand in that many racks (or in as many as its write quorum spans). Default false. */
  enforceMinNumFaultDomainsForWrite: boolean;
  /** Each write quorum, and each ack quorum, spans as many regions. 0, the default: no such rule. */
  minRegionsForDurability: number;
  /** Where this process stands, `/region/rack`: it reads there first. Default: not known. */
  networkLocation: string | undefined;

  /** A second replica is asked when the first has not answered a read for this long. Default 2,000. */
  speculativeReadTimeoutMs: number;
  /** Healthy, fast and near replicas are asked first. Default true. */
  reorderReadSequenceEnabled: boolean;
  /** Where every bookie of an ensemble has every entry, a ledger is read from one of them as long as it answers. Default true. */
  stickyReadsEnabled: boolean;
  /** Entries read from bookies in one request. Default 1 MiB. */
  readBatchBytes: number;
  /** Of a large range, bytes that may be on their way at once. Default 4 MiB. */
  readAheadBytes: number;
}

export const defaultLedgerClientOptions: LedgerClientOptions = {
  addEntryTimeoutMs: 5_000,
  addEntryQuorumTimeoutMs: 30_000,
  windowBytes: 16 * 1024 * 1024,
  waitingAppendBytesMax: 16 * 1024 * 1024,
  lagBytesMax: 8 * 1024 * 1024,
  explicitLacInterval: 0,
  delayEnsembleChange: false,
  maxAllowedEnsembleChanges: Number.POSITIVE_INFINITY,
  disableEnsembleChange: false,
  opportunisticStriping: false,
  minNumRacksPerWriteQuorum: 2,
  enforceMinNumRacksPerWriteQuorum: false,
  enforceMinNumFaultDomainsForWrite: false,
  minRegionsForDurability: 0,
  networkLocation: undefined,
  speculativeReadTimeoutMs: 2_000,
  reorderReadSequenceEnabled: true,
  stickyReadsEnabled: true,
  readBatchBytes: 1024 * 1024,
  readAheadBytes: 4 * 1024 * 1024,
};

/** Not an option: what tells a slow bookie from a hiccup. */
export const lagMsMax = 1_000;

export function isEnsembleChangeDisabled({ disableEnsembleChange }: Pick<LedgerClientOptions, 'disableEnsembleChange'>): boolean {
  return typeof disableEnsembleChange === 'function' ? disableEnsembleChange() : disableEnsembleChange;
}
