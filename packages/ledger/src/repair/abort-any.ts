/** A signal that aborts with the first of several. (`AbortSignal.any` keeps weak references, which the simulator cannot replay.) */
export function abortAny(signals: readonly (AbortSignal | undefined)[]): { signal: AbortSignal; stop(): void } {
  const any = new AbortController();
  const abort = () => any.abort();
  for (const signal of signals) {
    if (signal?.aborted === true) any.abort();
    signal?.addEventListener('abort', abort);
  }
  return {
    signal: any.signal,
    stop: () => {
      for (const signal of signals) signal?.removeEventListener('abort', abort);
    },
  };
}
