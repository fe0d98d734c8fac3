import type { EntryId } from '@daybook/proto';
import { EventQueue, SimClock } from '@daybook/runtime/sim';
import type { CreateLedgerOptions, LedgerReader, LedgerWriter } from '../ledger-api.js';
import { MemoryCluster, type MemoryClusterOptions } from './memory-cluster.js';

/** A cluster in memory on simulated time. */
export class SimWorld {
  readonly queue: EventQueue;
  readonly clock: SimClock;
  readonly cluster: MemoryCluster;

  constructor(options: Partial<MemoryClusterOptions> & { seed?: number } = {}) {
    this.queue = new EventQueue({ seed: options.seed ?? 1 });
    this.clock = new SimClock(this.queue);
    this.cluster = new MemoryCluster({ clock: this.clock, random: this.queue.random.fork('cluster'), ...options });
  }

  run<T>(promise: Promise<T>, withinMs?: number): Promise<T> {
    return this.queue.complete(promise, withinMs === undefined ? {} : { withinMs });
  }

  /** The error a promise is rejected with; fails when it is not. */
  async rejection(promise: Promise<unknown>): Promise<Error & { code?: string }> {
    return this.run(
      promise.then(
        () => new Error('it was not rejected'),
        (error) => error,
      ),
    );
  }

  runFor(durationMs: number): Promise<void> {
    return this.queue.runFor(durationMs);
  }
}

export const password = Buffer.from('secret');

export function ledgerOptions(ensembleSize: number, writeQuorumSize: number, ackQuorumSize: number): CreateLedgerOptions {
  return { ensembleSize, writeQuorumSize, ackQuorumSize, password };
}

/** Listens to a writer and keeps what it was told. */
export class Told {
  confirmed = -1;
  confirmations: number[] = [];
  error: (Error & { code?: string }) | undefined;
  confirmedAtFailure: number | undefined;

  constructor(writer: LedgerWriter) {
    writer.listen({
      confirmed: (upTo) => {
        this.confirmations.push(upTo);
        this.confirmed = upTo;
      },
      failed: (error, upTo) => {
        this.error = error;
        this.confirmedAtFailure = upTo;
      },
    });
  }
}

export function pushAll(writer: LedgerWriter, texts: readonly string[]): void {
  for (const text of texts) writer.push(Buffer.from(text));
}

export async function readTexts(reader: LedgerReader, first = 0, last: number = reader.lastAddConfirmed): Promise<string[]> {
  const entries = last < first ? [] : await reader.read(first as EntryId, last as EntryId);
  return entries.map((entry) => entry.payload.toString());
}

export function numbered(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => `entry ${from + i}`);
}
