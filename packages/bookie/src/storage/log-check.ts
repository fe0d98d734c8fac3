import type { Disk } from '@daybook/runtime';
import { decodeLogHeader, decodeLogRecord, logHeaderBytes } from './entry-log-format.js';
import { checkIndex } from './index-check.js';
import type { Run } from './index-format.js';

/** Where a log is and how much of it counts. */
export interface LogPlace {
  logId: number;
  logPath: string;
  indexPath: string;
  logBytes: number;
  indexBytes: number;
  isSealed: boolean;
}

export interface LogFindings {
  /** Records that are not what the index says. */
  badRecords: readonly { ledgerId: number; entryId: number; position: number }[];
  isHeaderBad: boolean;
  /** What is wrong with the index. */
  indexDamage: string | undefined;
  /** What can be read of the index. */
  runs: readonly Run[];
  bytes: number;
}

const windowBytes = 256 * 1024;

/** Reads a log and its index from end to end and checks every byte. `afterRead` is where it is slowed down. */
export async function checkLog(disk: Disk, place: LogPlace, afterRead: (bytes: number) => Promise<void>): Promise<LogFindings> {
  const indexBytes = await readPart(disk, place.indexPath, place.indexBytes, afterRead);
  const { runs, damage } = checkIndex(indexBytes, place, place.indexPath);
  /** By place: of a damaged index, runs may be known twice. */
  const bad = new Map<number, { ledgerId: number; entryId: number; position: number }>();
  const file = await disk.open(place.logPath, { mode: 'read' });
  try {
    const header = Buffer.alloc(logHeaderBytes);
    await file.readAt(0, header);
    const isHeaderBad = decodeLogHeader(header, place.logPath) !== place.logId;
    let window = Buffer.alloc(0);
    let windowStart = 0;
    for (const { ledgerId, firstEntryId, count, positions, at } of runs) {
      for (let i = 0; i < count; i++) {
        const position = positions[at + i] as number;
        const end = positions[at + i + 1] as number;
        if (position < windowStart || end > windowStart + window.length) {
          const target = Buffer.allocUnsafeSlow(Math.max(0, Math.min(Math.max(windowBytes, end - position), place.logBytes - position)));
          window = target.subarray(0, await file.readAt(position, target));
          windowStart = position;
          await afterRead(window.length);
        }
        const record = window.subarray(position - windowStart, end - windowStart);
        if (decodeLogRecord(record, ledgerId, firstEntryId + i) === undefined) bad.set(position, { ledgerId, entryId: firstEntryId + i, position });
      }
    }
    return { badRecords: [...bad.values()], isHeaderBad, indexDamage: damage, runs, bytes: indexBytes.length + place.logBytes };
  } finally {
    await file.close();
  }
}

/** The first `bytes` of a file, fewer when it is shorter. */
async function readPart(disk: Disk, path: string, bytes: number, afterRead: (bytes: number) => Promise<void>): Promise<Buffer> {
  const file = await disk.open(path, { mode: 'read' });
  try {
    const out = Buffer.alloc(bytes);
    let at = 0;
    while (at < bytes) {
      const read = await file.readAt(at, out.subarray(at, Math.min(bytes, at + windowBytes)));
      if (read === 0) break;
      at += read;
      await afterRead(read);
    }
    return out.subarray(0, at);
  } finally {
    await file.close();
  }
}
