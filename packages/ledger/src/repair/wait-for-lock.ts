import type { RepairLock, RepairLocks } from '@daybook/metadata';
import type { LedgerId } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import { repairErrors } from './errors.js';

export interface WaitForLock {
  locks: RepairLocks;
  clock: Clock;
  waitMs: number;
  stop?: AbortSignal | undefined;
}

const pollMs = 500;

/** The lock of a ledger, as soon as nobody else has it. Rejects with `REPAIR_LEDGER_LOCKED` after `waitMs`, `REPAIR_STOPPED`. */
export async function waitForLock(ledgerId: LedgerId, { locks, clock, waitMs, stop }: WaitForLock): Promise<RepairLock> {
  const deadlineMs = clock.monoMs() + waitMs;
  for (;;) {
    if (stop?.aborted === true) throw repairErrors.STOPPED();
    const lock = await locks.tryLock(ledgerId);
    if (lock !== undefined) return lock;
    const leftMs = deadlineMs - clock.monoMs();
    if (leftMs <= 0) throw repairErrors.LEDGER_LOCKED(ledgerId, (await locks.holder(ledgerId)) ?? 'somebody');
    await clock.sleep(Math.min(pollMs, leftMs), stop);
  }
}
