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

export function createAdmission({ appendBytesMax = 24 * mib, readBytesMax = 64 * mib } = {}): Admission {
  return { appends: new ByteBudget(appendBytesMax), reads: new ByteBudget(readBytesMax) };
}
