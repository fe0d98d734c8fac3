import type { LogPosition } from './log-position.js';
import { recordHeaderBytes } from './record-format.js';
import type { TransactionId } from './transaction-id.js';

export interface NewRecord {
  readonly txId: TransactionId;
  /** Not to be changed until it is acknowledged. */
  readonly payload: Uint8Array;
}

/** Records written by one call: they go to one segment, and are answered together when the last one is acknowledged. */
export class WriteOperation {
  readonly records: readonly NewRecord[];
  /** What it takes of the window. */
  readonly bytes: number;
  readonly positions: LogPosition[] = [];
  readonly #resolve: (positions: LogPosition[]) => void;
  readonly #reject: (error: Error) => void;
  #acknowledgedCount = 0;

  constructor(records: readonly NewRecord[], resolve: (positions: LogPosition[]) => void, reject: (error: Error) => void) {
    this.records = records;
    this.bytes = bytesOf(records);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** The first record that is in no entry yet; undefined when all are. */
  get next(): NewRecord | undefined {
    return this.records[this.positions.length];
  }

  /** True when these were the last ones. */
  acknowledge(count: number): boolean {
    this.#acknowledgedCount += count;
    if (this.#acknowledgedCount < this.records.length) return false;
    this.#resolve(this.positions);
    return true;
  }

  fail(error: Error): void {
    this.#reject(error);
  }
}

export function bytesOf(records: readonly NewRecord[]): number {
  return records.reduce((sum, { payload }) => sum + payload.length + recordHeaderBytes, 0);
}
