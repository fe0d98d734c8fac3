import { Command, Option } from 'commander';
import { wholeNumber } from './option-values.js';

export interface SimulatorOptions {
  world: string;
  seed?: number;
  seeds?: number;
  from?: number;
  seconds?: number;
  jobs?: number;
  trace?: true;
}

export const simulatorWorlds = ['ledger', 'cluster', 'bookie', 'tiny'] as const;

export function command(): Command {
  return new Command('sim')
    .description(
      'Run simulated clusters in which everything goes wrong, and check that nothing acknowledged is lost. Touches no disk and no network.',
    )
    .addOption(new Option('--world <name>', 'what is simulated').choices([...simulatorWorlds]).default('ledger'))
    .option('--seed <number>', 'one seed: everything that happens follows from it', wholeNumber(0))
    .option('--seeds <count>', 'so many, one after another (default 100); of world tiny: runs at most', wholeNumber(1))
    .option('--from <number>', 'the first of them (default 1)', wholeNumber(0))
    .option('--seconds <count>', 'go on for so long', wholeNumber(1))
    .option('--jobs <count>', 'processes that share the seeds (default 1)', wholeNumber(1, 1_000))
    .option('--trace', 'print what every node says')
    .addHelpText(
      'after',
      `
Worlds:
  ledger    bookies, and clients that write, close, read and recover each other's ledgers; two brokers that take a log from each other
  cluster   the same with auditors, replication workers and an operator; whole disks are lost, bookies drained, ledgers deleted, garbage collected
  bookie    two lives of a single bookie against a model: full and failing disks, garbage collection, compaction
  tiny      a ledger with very few entries and clients: every order of every message, as far as --seconds allow (default 60)

The code of bookies and clients is the real one; time, chance, disks, network and metadata are simulated. Power is cut, processes are killed or stand still,
disks lose what was not synced, fill up and fail, messages are late, lost, doubled, bits flip. Then everything is mended, and all work has to come to its end.
A seed that fails prints what was broken, the last events, and the command that runs it again. Exit code 1 when any failed.

Examples:
  daybook sim --seed 7                            one cluster, some seconds of its life
  daybook sim --seed 7 --world cluster --trace    ... and what its nodes say, with the time in milliseconds in front
  daybook sim --world bookie --seeds 1000 --jobs 2
  daybook sim --world tiny --seconds 30`,
    )
    .action(async (options: SimulatorOptions) => {
      const { runSimulator } = await import('./sim/run-simulator.js');
      await runSimulator(options);
    });
}
