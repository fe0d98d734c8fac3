import { type Clock, createLogger, type Disk, type Logger, Metrics, type Random } from '@daybook/runtime';
import { RealClock, RealDisk, RealRandom } from '@daybook/runtime/real';
import { z } from 'zod';

/** Settings that every server process has. */
export const processSettings = {
  logFormat: z.enum(['text', 'json']).default('text').describe('`text` for people, `json` for machines; logs go to standard error.'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('The least important lines that are written.'),
};

/** What a process hands to its parts. */
export interface NodeParts {
  clock: Clock;
  random: Random;
  disk: Disk;
  logger: Logger;
  metrics: Metrics;
}

export function nodeParts(config: { readonly logFormat: 'text' | 'json'; readonly logLevel: 'debug' | 'info' | 'warn' | 'error' }): NodeParts {
  const clock = new RealClock();
  return {
    clock,
    random: new RealRandom(),
    disk: new RealDisk(),
    logger: createLogger({ clock, format: config.logFormat, level: config.logLevel }),
    metrics: new Metrics(),
  };
}

/** For failures after which nothing the process holds can be trusted (rule R16): says why and ends it, without any clean-up. */
export function exitAtOnce(logger: Logger): (error: unknown) => void {
  return (error) => {
    logger.error({ error }, 'this process ends now; start it again to recover from the disk');
    process.exit(1);
  };
}
