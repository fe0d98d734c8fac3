export { type DiskCase, diskCases } from '../disk-conformance.js';
export { SimClock, type SimClockOptions } from './clock.js';
export { SimDisk, type SimDiskOptions } from './disk.js';
export { type CrashOptions, type DiskOperation, type DiskOperationKind, noDiskFaults, type Range, type SimDiskFaults } from './disk-faults.js';
export type { SimEvent } from './event-heap.js';
export { EventQueue, type RunOptions, SimulationFailure } from './event-queue.js';
export { SimRandom } from './random.js';
export { Trace, type TraceField } from './trace.js';
