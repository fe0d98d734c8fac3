export { Batcher, type BatcherOptions, batcherErrors } from './batcher.js';
export { type BudgetWaiter, ByteBudget, byteBudgetErrors } from './byte-budget.js';
export { ByteReader } from './byte-reader.js';
export { ByteWriter } from './byte-writer.js';
export { bytesErrors } from './bytes-errors.js';
export { type CasLoopOptions, type CasResult, type CasTarget, casErrors, casLoop } from './cas-loop.js';
export type { Clock, Timer } from './clock.js';
export { type ConfigKey, configKeys } from './config-keys.js';
export { configTable } from './config-table.js';
export { crc32 } from './crc32.js';
export { crc32c, crc32cParts } from './crc32c.js';
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
export { isoTime } from './format-time.js';
export { BrokenInvariant, invariant, unreachable } from './invariant.js';
export { Lifecycle, type LifecyclePart, lifecycleErrors } from './lifecycle.js';
export { configErrors, type DeepReadonly, type LoadConfigOptions, loadConfig } from './load-config.js';
export { createLogger, type LogFields, type Logger, type LoggerOptions, type LogLevel, logLevels, silentLogger } from './log.js';
export {
  type Counter,
  type Gauge,
  type Histogram,
  type Labels,
  latencySecondsBuckets,
  type MetricFamily,
  type MetricOptions,
  Metrics,
  sizeBytesBuckets,
} from './metrics.js';
export { below, type Random, shuffled, uuid } from './random.js';
export { Backoff, type BackoffOptions, isWorthRetrying, type RetryOptions, retry } from './retry.js';
export { TaskSet } from './task-set.js';
