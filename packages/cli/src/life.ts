import { keepHeapHeadroom } from '@daybook/runtime/real';

/** A server process tells whoever started it that it serves, as a line for people and (over an IPC channel, when there is one) as a message. */
export interface ReadyMessage {
  ready: { address: string };
}

export function announceReady(line: string, ready: ReadyMessage['ready']): void {
  process.stdout.write(`${line}\n`);
  if (process.connected) process.send?.({ ready } satisfies ReadyMessage);
}

export function isReadyMessage(message: unknown): message is ReadyMessage {
  return typeof message === 'object' && message !== null && 'ready' in message;
}

/**
 * A process that was started with an IPC channel (as `daybook cluster` does) belongs to its parent: it ends at once when that is gone, kill -9 included. Its
 * data is as safe as after a kill of its own.
 */
export function endWithParent(): void {
  if (!process.connected) return;
  process.once('disconnect', () => process.exit(1));
  process.channel?.unref();
}

/** To be called at the start of a process that serves. */
export function beginServing(): void {
  endWithParent();
  keepHeapHeadroom();
}

/** Resolves when the process is asked to end; a second request ends it at once. */
export async function untilAskedToEnd(): Promise<void> {
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(1));
        resolve();
      });
    }
  });
}
