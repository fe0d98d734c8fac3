import { Backoff } from '@daybook/runtime';
import type { LogContext } from './context.js';

export function retryDelay(context: Pick<LogContext, 'random' | 'settings'>): Backoff {
  const { retryDelayMinMs, retryDelayMaxMs } = context.settings;
  return new Backoff({ random: context.random, delayMsMin: retryDelayMinMs, delayMsMax: retryDelayMaxMs });
}
