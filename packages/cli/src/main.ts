import { Command, CommanderError } from 'commander';
import { errorText, exitCodeOf, exitCodes } from './exit.js';
import { version } from './version.js';

/** Each sub-command lives in its own file, which is loaded only when it runs: `daybook --help` and a cold start pay for nothing else. */
async function program(): Promise<Command> {
  const root = new Command('daybook')
    .description('A message broker with Pulsar-compatible WebSocket and REST interfaces, on its own replicated ledger store.')
    .version(version())
    .showHelpAfterError('(add --help for the options and examples)')
    .enablePositionalOptions()
    .exitOverride()
    .addHelpText(
      'after',
      `
Start here:
  daybook standalone                              everything in one process, http://127.0.0.1:8080, data in ./data
  daybook produce my-topic -m 'hello'             publish a message
  daybook consume my-topic -s my-subscription     receive and acknowledge
  daybook cluster --bookies 3 --brokers 2         a whole cluster of processes on this machine`,
    );
  const modules = await Promise.all([
    import('./standalone.js'),
    import('./broker.js'),
    import('./bookie.js'),
    import('./cluster.js'),
    import('./produce.js'),
    import('./consume.js'),
    import('./admin.js'),
    import('./ledger.js'),
    import('./bench.js'),
  ]);
  for (const module of modules) root.addCommand(module.command());
  return root;
}

/** Runs the command line; the process's exit code says how it went (`exitCodes`). */
export async function main(argv: readonly string[]): Promise<void> {
  try {
    const root = await program();
    await root.parseAsync([...argv]);
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
      return;
    }
    process.stderr.write(`${errorText(error)}\n`);
    process.exitCode = exitCodeOf(error);
  }
}
