import { setMaxListeners } from 'node:events';

/** A signal that aborts with the first of several. (`AbortSignal.any` keeps weak references, which the simulator cannot replay.) */
export function abortAny(signals: readonly (AbortSignal | undefined)[]): { signal: AbortSignal; stop(): void } {
  const any = new AbortController();
  const abort = () => any.abort();
  for (const signal of signals) {
    if (signal === undefined) continue;
    if (signal.aborted) any.abort();
    // As many as there are tasks wait for the end of their owner.
    setMaxListeners(0, signal);
    signal.addEventListener('abort', abort);
  }
  return {
    signal: any.signal,
    stop: () => {
      for (const signal of signals) signal?.removeEventListener('abort', abort);
    },
  };
}
