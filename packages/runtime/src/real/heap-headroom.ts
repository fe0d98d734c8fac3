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
 * Lets V8's heap grow by so many bytes (default 48 MiB), or to its double, before all of it is marked again. V8 takes buffers that come and go (what sockets and files deliver,
 * what is sent) for growth, and decides by shares of what is live: a process that moves 100 MB/s through a heap of 10 MB marks it ten times a second, on all
 * cores; one with a large heap takes four times of it. For the whole process, until it ends; never keeps it alive.
 */
export function keepHeapHeadroom(headroomBytes: number = headroomBytesDefault, setFlags: (flags: string) => void = setFlagsFromString): void {
  const adjust = (): void => setFlags(`--heap-growing-percent=${growingPercent(getHeapStatistics().used_heap_size, headroomBytes)}`);
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
