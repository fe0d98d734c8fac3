import type { Clock } from '@daybook/runtime';

/** What `outcome` gives, or undefined when it lets one wait for longer than this. */
export function within<T>(clock: Clock, waitMsMax: number, outcome: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(waitMsMax, () => resolve(undefined));
    outcome.finally(() => timer.cancel()).then(resolve, reject);
  });
}
