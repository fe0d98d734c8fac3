import type { Clock } from '@daybook/runtime';
import type { MetadataStore } from './metadata-store.js';

/** The servers end a session a little late. */
const expiryGraceMs = 2_000;

/**
 * Waits until no other session holds the ephemeral key at `path`, or `stop`. False when one does for longer than that of a dead process can last: somebody
 * renews it. A session lasts on while the store itself is away and has its whole time-out again when that is back, so time counts from the last reconnect.
 * Rejects with `METADATA_UNAVAILABLE` when the store stays away.
 */
export async function outlastEarlierSession(
  store: MetadataStore,
  path: string,
  { clock, stop }: { clock: Clock; stop: AbortSignal },
): Promise<boolean> {
  let connectedAtMs = clock.monoMs();
  let changed = new AbortController();
  const wake = () => changed.abort();
  const session = store.onSession((state) => {
    if (state === 'connected') connectedAtMs = clock.monoMs();
    if (state !== 'suspended') wake();
  });
  const watch = store.watch(path, wake);
  stop.addEventListener('abort', wake);
  try {
    for (;;) {
      changed = new AbortController();
      const found = await store.get(path);
      if (found === undefined || found.ownEphemeral || stop.aborted) return true;
      const leftMs = connectedAtMs + store.sessionTimeoutMs + expiryGraceMs - clock.monoMs();
      if (leftMs <= 0) return false;
      await clock.sleep(leftMs, changed.signal);
    }
  } finally {
    stop.removeEventListener('abort', wake);
    watch.stop();
    session.stop();
  }
}
