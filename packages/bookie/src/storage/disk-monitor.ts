import { type Clock, DaybookError, type Disk, type DiskUsage, type Logger, type Timer } from '@daybook/runtime';
import { bookieErrors } from '../errors.js';
import { type DiskLevel, type DiskThresholds, levelOf, reserveBytesFor, usedShare } from './disk-usage.js';
import type { LedgerDirectories } from './ledger-directories.js';
import { ReserveFile } from './reserve-file.js';

export interface DiskMonitorOptions {
  disk: Disk;
  clock: Clock;
  logger: Logger;
  journalDirectories: readonly string[];
  ledgers: LedgerDirectories;
  thresholds: DiskThresholds;
  intervalMs: number;
  /** Kept back in each directory; less on small disks. */
  reserveBytes: number;
  /** Used-up journal files and the like: given back before the reserve is touched. */
  giveBackSpares(): Promise<void>;
  /** A sync failed, of a directory that cannot be taken out. */
  onFatal(error: unknown): void;
  /** After each check. */
  onChecked(): void;
}

/** A journal or ledger directory as of the last check. */
export interface DirectoryStatus extends DiskUsage {
  path: string;
  isJournal: boolean;
  isLedgers: boolean;
  level: DiskLevel;
  /** Kept back, part of what is in use. */
  reserveBytes: number;
  /** To be kept back. */
  reserveBytesAim: number;
  /** Why it was taken out. */
  error?: string;
}

interface Watched extends DirectoryStatus {
  reserve: ReserveFile;
  hadNoRoom: boolean;
}

/** Watches how full the disks are, and holds the space that is kept back on them. One check at a time. */
export class DiskMonitor {
  readonly #options: DiskMonitorOptions;
  readonly #watched: readonly Watched[];
  #checking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isClosed = false;
  /** The first check writes nothing: a start must be quick. */
  #mayFill = false;

  constructor(options: DiskMonitorOptions) {
    this.#options = options;
    const { disk, journalDirectories, ledgers } = options;
    this.#watched = [...new Set([...journalDirectories, ...ledgers.all])].map((path) => ({
      path,
      isJournal: journalDirectories.includes(path),
      isLedgers: ledgers.all.includes(path),
      totalBytes: 0,
      freeBytes: 0,
      level: 'ok' as DiskLevel,
      reserveBytes: 0,
      reserveBytesAim: 0,
      reserve: new ReserveFile(disk, path),
      hadNoRoom: false,
    }));
  }

  get directories(): readonly DirectoryStatus[] {
    return this.#watched.map(({ reserve, hadNoRoom, ...status }) => status);
  }

  async close(): Promise<void> {
    this.stop();
    await this.#checking;
  }

  /** Writes nothing any more. */
  stop(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** Looks at all disks now, and from then on again and again; whoever asks while a check runs gets the outcome of that one. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
      this.#mayFill = true;
      this.#options.onChecked();
      this.#schedule();
    });
    return this.#checking;
  }

  /**
   * A write found no room, in `path` if that is known: gives away what is kept back on the disks that are full. When it resolves, what may not wait can be
   * tried again.
   */
  async noteNoRoom(path?: string): Promise<void> {
    await this.#checking;
    await this.#options.giveBackSpares();
    const known = this.#watched.find((watched) => watched.path === path);
    const full = known === undefined ? await this.#withoutRoom() : [known];
    for (const watched of full) {
      watched.hadNoRoom = true;
      watched.level = 'full';
      await this.#unlessFailing(watched, () => watched.reserve.giveAway());
      watched.reserveBytes = 0;
    }
    await this.check();
  }

  /** A disk is without room when less is free than is kept back; when none looks like that, any may be (quotas): all are taken for full. */
  async #withoutRoom(): Promise<readonly Watched[]> {
    const full: Watched[] = [];
    for (const watched of this.#watched) {
      if (watched.level === 'failed') continue;
      const usage = await this.#unlessFailing(watched, () => this.#options.disk.usage(watched.path));
      if (usage === undefined) continue;
      const { totalBytes, freeBytes } = usage;
      if (freeBytes <= Math.max(reserveBytesFor(totalBytes, this.#options.reserveBytes), totalBytes / 50)) full.push(watched);
    }
    return full.length > 0 ? full : this.#watched.filter(({ level }) => level !== 'failed');
  }

  #schedule(): void {
    this.#timer?.cancel();
    if (this.#isClosed) return;
    this.#timer = this.#options.clock.after(this.#options.intervalMs, () => {
      this.check().catch((error: unknown) => this.#options.logger.error({ error }, 'the disks cannot be checked'));
    });
  }

  async #check(): Promise<void> {
    for (const watched of this.#watched) await this.#unlessFailing(watched, () => this.#look(watched));
    const isFull = ({ level }: Watched): boolean => level === 'full';
    this.#options.ledgers.noteFull(new Set(this.#watched.filter(isFull).map(({ path }) => path)));
  }

  /** A ledger directory that fails is taken out; a journal that fails says so itself when it is written. */
  async #unlessFailing<T>(watched: Watched, task: () => Promise<T>): Promise<T | undefined> {
    try {
      return await task();
    } catch (error) {
      if (!(error instanceof DaybookError)) throw error;
      const { ledgers, logger, onFatal } = this.#options;
      if (ledgers.takeOut(watched.path, error)) return undefined;
      logger.error({ error, directory: watched.path }, 'the disk cannot be checked');
      if (bookieErrors.FAILED.is(error)) onFatal(error);
      return undefined;
    }
  }

  async #look(watched: Watched): Promise<void> {
    const { disk, ledgers, thresholds } = this.#options;
    const failed = ledgers.failed.find(({ path }) => path === watched.path);
    if (failed !== undefined) {
      watched.level = 'failed';
      watched.error = failed.error instanceof Error ? failed.error.message : String(failed.error);
      return;
    }
    const before = watched.level;
    Object.assign(watched, await disk.usage(watched.path));
    watched.reserveBytes = await watched.reserve.bytes();
    const reserveBytes = reserveBytesFor(watched.totalBytes, this.#options.reserveBytes);
    watched.reserveBytesAim = reserveBytes;
    const missing = (): number => Math.max(0, reserveBytes - watched.reserveBytes);
    let { hadNoRoom } = watched;
    watched.hadNoRoom = false;
    // Only with room to spare: the reserve must not be what fills the disk.
    const share = usedShare({ totalBytes: watched.totalBytes, freeBytes: watched.freeBytes - missing() });
    if (!hadNoRoom && this.#mayFill && !this.#isClosed && missing() > 0 && share < Math.min(thresholds.full, thresholds.lowWater)) {
      hadNoRoom = !(await watched.reserve.fill(reserveBytes));
      watched.reserveBytes = await watched.reserve.bytes();
      Object.assign(watched, await disk.usage(watched.path));
    }
    watched.level = levelOf({ ...watched, before, hadNoRoom, missingReserveBytes: missing() }, thresholds);
    if (watched.level !== before) {
      const { path, level, freeBytes, totalBytes } = watched;
      this.#options.logger[level === 'ok' ? 'info' : 'warn']({ directory: path, level, before, freeBytes, totalBytes }, 'a disk is at another level');
    }
  }
}
