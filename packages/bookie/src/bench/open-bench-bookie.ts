import { createLogger } from '@daybook/runtime';
import { RealClock, RealDisk, RealRandom } from '@daybook/runtime/real';
import { openBookie } from '../bookie.js';
import type { Bookie, BookieOptions } from '../bookie-api.js';
import { type BookieConfigInput, bookieConfigSchema } from '../config.js';

type BenchBookieOptions = Partial<Omit<BookieOptions, 'config'>> & { config?: Partial<BookieConfigInput> };

/** A bookie in this process, with its journal and its entry logs below `folder`; what fails ends the benchmark. */
export function openBenchBookie(folder: string, { config, ...options }: BenchBookieOptions = {}): Promise<Bookie> {
  const clock = new RealClock();
  return openBookie({
    config: bookieConfigSchema.parse({ journalDirectories: [`${folder}/journal`], ledgerDirectories: [`${folder}/ledgers`], ...config }),
    clock,
    random: new RealRandom(),
    disk: new RealDisk(),
    logger: createLogger({ clock, level: 'warn' }),
    onFatal: (error) => {
      throw error;
    },
    ...options,
  });
}
