export type { Clock, Timer } from './clock.js';
export type { Disk, DiskFile, DiskLock, DiskUsage, OpenOptions } from './disk.js';
export { diskErrors } from './disk-errors.js';
export {
  DaybookError,
  type DefinedErrors,
  definedErrors,
  defineErrors,
  type ErrorFactory,
  type ErrorTable,
  errorCode,
  type Retry,
} from './errors.js';
export { BrokenInvariant, invariant, unreachable } from './invariant.js';
export { below, type Random, shuffled, uuid } from './random.js';
