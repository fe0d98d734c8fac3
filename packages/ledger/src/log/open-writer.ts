import type { MetadataStore } from '@daybook/metadata';
import { logErrors } from './errors.js';
import type { LogHead } from './head-format.js';
import type { OpenWriterOptions } from './log-api.js';
import { acquireLock, type LogLock } from './log-lock.js';
import type { LogWriterDependencies } from './log-writer.js';
import { checkClaim, claimLog, recoverSegments } from './segment-changes.js';

/** What makes somebody a log's one owner, in this order: lock, claim, recovery. Whatever fails gives the lock back. */
export async function ownLog(
  d: LogWriterDependencies & { store: MetadataStore },
  options: OpenWriterOptions,
): Promise<{ lock: LogLock; head: LogHead }> {
  const { metadata, store, clock, random } = d;
  const { owner = 'writer', lockWaitMs = d.options.lockWaitMs, stop } = options;
  // Before the lock: its key must not be made for a log that does not exist.
  await metadata.readHead();
  const lock = await acquireLock({ store, clock, random, name: metadata.name, owner, waitMs: lockWaitMs, ...(stop !== undefined && { stop }) });
  try {
    const token = Buffer.from(random.bytes(8)).toString('hex');
    const { owner: claim } = await claimLog(metadata, owner, token);
    const head = await recoverSegments(d);
    checkClaim(metadata.name, head, claim);
    if (!lock.isHeld) throw logErrors.LOCK_LOST(metadata.name);
    return { lock, head };
  } catch (error) {
    await lock.release();
    throw error;
  }
}
