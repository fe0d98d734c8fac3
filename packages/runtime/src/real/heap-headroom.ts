import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** Enough for a small heap to be marked a few times a second at most, whatever passes through. */
const headroomBytesDefault = 48 * 1024 * 1024;
/** A large heap grows by its size at least: marking it costs in proportion to that. */
const growingPercentMin = 100;

/** By how many per cent of what is live the heap has to be allowed to grow, so that it grows by `headroomBytes`. */
export function growingPercent(liveBytes: number, headroomBytes: number): number {
  return Math.max(growingPercentMin, Math.ceil((headroomBytes / Math.max(liveBytes, 1)) * 100));
}

/**
 * What makes V8 count buffers into the heap that {@link growingPercent} is about. Up to Node 22 it does so by itself. From Node 24 on (V8 13.6) they have a limit of
 * their own of 64 MiB, and all is marked whenever so much has passed through; from Node 25 on they may grow by 30 per cent at most even then. Of a
 * version that is not known here nothing is asked: V8 complains about a flag that it does not have.
 */
export function bufferAccountingFlags(nodeMajor = Number.parseInt(process.versions.node, 10)): readonly string[] {
  if (nodeMajor < 24 || nodeMajor > nodeMajorMax) return [];
  const counted = '--external-memory-accounted-in-global-limit';
  return nodeMajor === 24 ? [counted] : [counted, '--external-memory-max-growing-factor=100'];
}

/** The newest that was looked at. */
const nodeMajorMax = 26;

/**
 * Lets V8's heap grow by so many bytes (default 48 MiB), or to its double, before all of it is marked again. V8 takes buffers that come and go (what sockets and files deliver,
 * what is sent) for growth, and decides by shares of what is live: a process that moves 100 MB/s through a heap of 10 MB marks it ten times a second, on all
 * cores; one with a large heap takes four times of it. For the whole process, until it ends; never keeps it alive.
 */
export function keepHeapHeadroom(headroomBytes: number = headroomBytesDefault, setFlags: (flags: string) => void = setFlagsFromString): void {
  const adjust = (): void => setFlags(`--heap-growing-percent=${growingPercent(getHeapStatistics().used_heap_size, headroomBytes)}`);
  for (const flag of bufferAccountingFlags()) setFlags(flag);
  adjust();
  // Right after it has been marked, what is used is what is live.
  const observer = new PerformanceObserver((list) => {
    if (list.getEntries().some(isMajor)) adjust();
  });
  observer.observe({ entryTypes: ['gc'] });
}

/** Node gives entries of this kind a `detail` that their type does not know. */
function isMajor(entry: PerformanceEntry & { detail?: { kind?: number } }): boolean {
  return entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
