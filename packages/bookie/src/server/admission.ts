import type { ReadRequest } from '@daybook/proto';
import { ByteBudget } from '@daybook/runtime';

/**
 * What clients may keep in this bookie's memory, in bytes, all connections together. Appends stay below what the journal's queue and the held appends take,
 * so that remote writers are slowed down by their sockets, not refused.
 */
export interface Admission {
  /** Batches received and not answered yet. At the bound the sockets are not read. */
  readonly appends: ByteBudget;
  /** Replies to reads, from the request until they were handed to the system. Beyond it requests wait. */
  readonly reads: ByteBudget;
}

const mib = 1024 * 1024;
/** Also a request that asks for nothing costs something. */
const readBytesMin = 4096;

export function createAdmission({ appendBytesMax = 24 * mib, readBytesMax = 64 * mib } = {}): Admission {
  return { appends: new ByteBudget(appendBytesMax), reads: new ByteBudget(readBytesMax) };
}

/** What the reply to a read takes of the budget of reads: never more than there is, or it would wait for ever. */
export function readBytesOf({ bytesMax }: ReadRequest, reads: ByteBudget): number {
  return Math.min(reads.bytesMax, Math.max(readBytesMin, bytesMax));
}
