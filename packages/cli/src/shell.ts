import { Command } from 'commander';

/**
 * The operators' tools. What is below it is made only when it is used, and with BookKeeper's spellings of options (`-rw`, `-dr`), which look like several
 * one-letter options to commander.
 */
export function command(): Command {
  return new ShellCommand('shell')
    .description('Look inside bookies and a cluster, and repair them: the tools of an operator.')
    .allowUnknownOption()
    .passThroughOptions()
    .argument('[words...]', 'a command of the shell and its options')
    .action(async (words: string[], _options: object, outer: Command) => {
      const { shellProgram, withLongOptions } = await import('./shell/shell-program.js');
      await shellProgram(outer).parseAsync(withLongOptions(words), { from: 'user' });
    });
}

/** Leaves `--help` to the program behind it. */
class ShellCommand extends Command {
  override copyInheritedSettings(source: Command): this {
    super.copyInheritedSettings(source);
    return this.helpOption(false);
  }
}
