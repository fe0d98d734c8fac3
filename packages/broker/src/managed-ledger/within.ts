import type { Clock } from '@daybook/runtime';

/** The outcome of `task`, or a rejection with `late()` when it takes longer; the task itself goes on and is ignored. */
export function within<T>(clock: Clock, task: Promise<T>, limit: { waitMaxMs: number; late: () => Error }): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(limit.waitMaxMs, () => reject(limit.late()));
    task.then(resolve, reject).finally(() => timer.cancel());
  });
}
