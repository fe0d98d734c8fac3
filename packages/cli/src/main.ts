import { Command, CommanderError } from 'commander';
import { errorText, exitCodeOf, exitCodes } from './exit.js';
import { version } from './package-files.js';

/** Each sub-command lives in its own file, and what it does in further ones: a cold start pays for nothing else. */
const commands = new Map<string, () => Promise<{ command(): Command }>>([
  ['standalone', () => import('./standalone.js')],
  ['broker', () => import('./broker.js')],
  ['bookie', () => import('./bookie.js')],
  ['autorecovery', () => import('./autorecovery.js')],
  ['cluster', () => import('./cluster.js')],
  ['produce', () => import('./produce.js')],
  ['consume', () => import('./consume.js')],
  ['admin', () => import('./admin.js')],
  ['ledger', () => import('./ledger.js')],
  ['shell', () => import('./shell.js')],
  ['bench', () => import('./bench.js')],
  ['sim', () => import('./sim.js')],
]);

/** With the command that `word` names, or with all of them when it names none (then help or an error lists them). */
async function program(word: string): Promise<Command> {
  const root = new Command('daybook')
    .description('A message broker with Pulsar-compatible WebSocket and REST interfaces, on its own replicated ledger store.')
    .version(version())
    .showHelpAfterError('Add --help for the options and examples.')
    .enablePositionalOptions()
    .exitOverride()
    .addHelpText(
      'after',
      `
Start here:
  daybook standalone                              everything in one process, http://127.0.0.1:8080, data in ./data
  daybook produce my-topic -m 'hello'             publish a message
  daybook consume my-topic -s my-subscription     receive and acknowledge
  daybook cluster --bookies 3 --brokers 2         a whole cluster of processes on this machine
  daybook admin topics stats my-topic             what goes on in a topic
  daybook COMMAND --help                          options and examples of a command

Servers take their settings from a file (--config, DAYBOOK_CONFIG), then the environment (DAYBOOK_MAX_MESSAGE_SIZE=...), then flags; the later one wins.
All settings: docs/configuration.md. All errors: docs/errors.md.

Exit codes: 0 done; 1 it ran and failed, the reason is on standard error; 2 the command line or the settings are wrong.
DAYBOOK_DEBUG=1 adds error codes, stacks and causes.`,
    );
  const named = commands.get(word);
  const modules = await Promise.all((named === undefined ? [...commands.values()] : [named]).map((load) => load()));
  for (const module of modules) root.addCommand(module.command());
  inherit(root);
  return root;
}

/** Commands that were made on their own do not inherit how errors are told and handed to us. */
function inherit(parent: Command): void {
  for (const child of parent.commands) {
    child.copyInheritedSettings(parent);
    inherit(child);
  }
}

/** Runs the command line; the process's exit code says how it went (`exitCodes`). */
export async function main(argv: readonly string[]): Promise<void> {
  try {
    const root = await program(argv[2] ?? '');
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
