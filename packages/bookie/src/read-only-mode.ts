import type { DirectoryStatus } from './storage/disk-monitor.js';

/** Why a bookie takes no ordinary appends. */
export type ReadOnlyReason =
  | { kind: 'disk full'; directory: string }
  /** Asked for by an operator; only an operator undoes it. */
  | { kind: 'manual' }
  /** `forceReadOnlyBookie` in the configuration. */
  | { kind: 'forced' }
  /** It may have lost entries and fences, and does not know yet of which ledgers. */
  | { kind: 'limbo' };

export interface ReadOnlyModeOptions {
  /** One full ledger directory is enough (`readOnlyModeOnAnyDiskFullEnabled`); otherwise all must be. A full journal directory always is. */
  isAnyFullEnough: boolean;
  isForced: boolean;
  isManual: boolean;
  /** Until {@link ReadOnlyMode.endLimbo}. */
  isLimbo: boolean;
  /** It changed; the state is the new one already. */
  onChange(): void;
}

/** Whether the bookie takes entries: computed from its causes, never a flag of its own, so that it comes back by itself when the last cause is gone. */
export class ReadOnlyMode {
  readonly #options: ReadOnlyModeOptions;
  #isManual: boolean;
  #isLimbo: boolean;
  #fullDirectories: readonly string[] = [];
  /** What appends of a recovery may still take on full disks: estimated from check to check. */
  #recoveryBytesLeft = Number.POSITIVE_INFINITY;

  constructor(options: ReadOnlyModeOptions) {
    this.#options = options;
    this.#isManual = options.isManual;
    this.#isLimbo = options.isLimbo;
  }

  get reasons(): readonly ReadOnlyReason[] {
    const reasons: ReadOnlyReason[] = this.#fullDirectories.map((directory) => ({ kind: 'disk full', directory }));
    if (this.#isManual) reasons.push({ kind: 'manual' });
    if (this.#options.isForced) reasons.push({ kind: 'forced' });
    if (this.#isLimbo) reasons.push({ kind: 'limbo' });
    return reasons;
  }

  get isReadOnly(): boolean {
    return this.#fullDirectories.length > 0 || this.#isManual || this.#options.isForced || this.#isLimbo;
  }

  /** It is known which ledgers are concerned: it takes entries of all others. */
  endLimbo(): void {
    this.#change(() => {
      this.#isLimbo = false;
    });
  }

  /** Whether appends of a recovery are taken: what lies on other bookies is copied here even while ordinary appends are refused. */
  get takesRecovery(): boolean {
    return this.#recoveryBytesLeft > 0;
  }

  /** Whether a batch may come in now; one of a recovery uses up some of the space that is left. */
  admits(batch: { isRecovery: boolean; bytes: Uint8Array }): boolean {
    if (!this.isReadOnly) return true;
    // Once in the journal, once in an entry log.
    const bytes = 2 * batch.bytes.length;
    if (!batch.isRecovery || bytes > this.#recoveryBytesLeft) return false;
    this.#recoveryBytesLeft -= bytes;
    return true;
  }

  setManual(isManual: boolean): void {
    this.#change(() => {
      this.#isManual = isManual;
    });
  }

  /** After each check of the disks. */
  noteDisks(directories: readonly DirectoryStatus[]): void {
    const isFull = ({ level }: DirectoryStatus): boolean => level === 'full';
    const ledgers = directories.filter(({ isLedgers, level }) => isLedgers && level !== 'failed');
    const journals = directories.filter(({ isJournal }) => isJournal);
    const isOutOfLedgerSpace = this.#options.isAnyFullEnough ? ledgers.some(isFull) : ledgers.every(isFull);
    const full = [...journals.filter(isFull), ...(isOutOfLedgerSpace ? ledgers.filter(isFull) : [])];
    this.#recoveryBytesLeft = Math.min(...journals.map(roomForRecovery), Math.max(...ledgers.map(roomForRecovery)));
    this.#change(() => {
      this.#fullDirectories = [...new Set(full.map(({ path }) => path))];
    });
  }

  #change(apply: () => void): void {
    const before = this.isReadOnly;
    apply();
    if (this.isReadOnly !== before) this.#options.onChange();
  }
}

/** Half of what was kept back, once it is given away, stays for fences and checkpoints. */
function roomForRecovery({ level, freeBytes, reserveBytes, reserveBytesAim }: DirectoryStatus): number {
  if (level !== 'full') return Number.POSITIVE_INFINITY;
  return reserveBytes > 0 ? freeBytes : Math.max(0, freeBytes - reserveBytesAim / 2);
}
