/** A pending call made with {@link Clock.after}. */
export interface Timer {
  /** Prevents the call if it has not happened yet; afterwards it does nothing. */
  cancel(): void;
}

/**
 * The only source of time in the core. Real: `real/clock.ts`; simulated: `sim/clock.ts`.
 * Wall time is for people and for records; never for ordering or time-outs (it may jump).
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  wallMs(): number;
  /** Milliseconds since some fixed moment; never goes back. */
  monoMs(): number;
  /** Calls `task` once, `delayMs` from now. Timers of the real clock do not keep the process alive. */
  after(delayMs: number, task: () => void): Timer;
  /** Calls `task` once what has arrived in this event-loop turn has been handled: the moment to send a natural batch. */
  endOfTurn(task: () => void): void;
  /** Resolves after `delayMs`, or at once when `stop` aborts (it never rejects: look at `stop.aborted`). Keeps the process alive. */
  sleep(delayMs: number, stop?: AbortSignal): Promise<void>;
}
