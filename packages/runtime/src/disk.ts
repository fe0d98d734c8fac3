/**
 * Files as the core sees them. Real: `real/disk.ts`; simulated (loses or tears unsynced writes, flips bits, stalls, fills up, fails syncs): `sim/disk.ts`.
 *
 * Durability: bytes are safe after `sync` resolved (or after `writeAt` resolved on a file opened with `syncEachWrite`); a new, renamed or
 * removed name is safe after `syncDirectory` of its parent resolved. Before that a crash may keep all, none or a part of it.
 * Every method rejects with a `diskErrors` error. After a rejected sync nothing about the file may be trusted: the process must stop.
 */
export interface Disk {
  open(path: string, options?: OpenOptions): Promise<DiskFile>;
  /** Replaces `to` when it exists. Durable after `syncDirectory` of both parents. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; a missing one is not an error. */
  remove(path: string): Promise<void>;
  /** Makes a directory with all its parents; durable when it resolves; an existing one is fine. */
  makeDirectory(path: string): Promise<void>;
  /** Names (not paths) in a directory, sorted; empty when there is no such directory. */
  list(directory: string): Promise<string[]>;
  /** Size of a file in bytes, or undefined when there is no such file. */
  fileBytes(path: string): Promise<number | undefined>;
  syncDirectory(directory: string): Promise<void>;
  usage(directory: string): Promise<DiskUsage>;
  /**
   * Takes the exclusive lock of a folder (made when missing) that ends with the process, kill -9 included. Rejects with `DISK_LOCKED` when
   * it is held already, by this process too. Holds between processes of one machine, not between machines that share a folder.
   */
  lock(path: string): Promise<DiskLock>;
}

export interface OpenOptions {
  /** `read` fails when the file is missing; `write` (default) opens it for reading and writing and creates it; `create` fails when it exists. */
  mode?: 'read' | 'write' | 'create';
  /** Every `writeAt` returns only after its data is durable (O_DSYNC): one trip instead of write + sync. */
  syncEachWrite?: boolean;
}

export interface DiskFile {
  readonly path: string;
  /** Current size in bytes. */
  bytes(): Promise<number>;
  /** Fills `target` from `position`; resolves to how many bytes were read, fewer than asked only at the end of the file. */
  readAt(position: number, target: Uint8Array): Promise<number>;
  /** Writes all of `source` at `position`. The caller must not change `source` until it resolves. At most one write per file at a time. */
  writeAt(position: number, source: Uint8Array): Promise<void>;
  /** Makes all resolved writes durable, the file's size included. */
  sync(): Promise<void>;
  truncate(bytes: number): Promise<void>;
  close(): Promise<void>;
}

export interface DiskUsage {
  totalBytes: number;
  freeBytes: number;
}

export interface DiskLock {
  release(): Promise<void>;
}
