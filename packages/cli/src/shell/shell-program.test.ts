import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import t from 'tap';
import { shellProgram, withLongOptions } from './shell-program.js';

const packages = fileURLToPath(new URL('../../../../packages/', import.meta.url));

/** Every command line `daybook shell ...` that a text for people mentions. */
function mentioned(): Map<string, string> {
  const found = new Map<string, string>();
  const files = readdirSync(packages, { recursive: true, encoding: 'utf8' }).filter((path) => /^[^/]+\/src\/.*(?<!\.test)\.ts$/.test(path));
  for (const file of [...files.map((path) => `${packages}${path}`), `${packages}../docs/shell.md`]) {
    for (const [, words] of readFileSync(file, 'utf8').matchAll(
      /daybook shell ([a-z_]+(?: (?:inspect|repair|endlimbo|status|force|compact|pause|resume))?)\b/g,
    )) {
      found.set(words as string, file);
    }
  }
  return found;
}

function find(program: Command, words: string): Command | undefined {
  return words.split(' ').reduce<Command | undefined>((command, word) => command?.commands.find((child) => child.name() === word), program);
}

t.test('shell: every command that an error or a help text names exists', async (t) => {
  const program = shellProgram();
  const all = mentioned();
  t.ok(all.size > 10);
  for (const [words, file] of all) t.ok(find(program, words), `${words}, named in ${file}`);
});

t.test('shell: each command has a description, an example of itself, --json', async (t) => {
  for (const command of shellProgram().commands) {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) });
    command.outputHelp();
    t.ok(command.description().length > 20, command.name());
    t.match(help, new RegExp(`daybook shell ${command.name()}`), `${command.name()}: an example`);
    for (const leaf of command.commands.length > 0 ? command.commands : [command]) {
      t.ok(
        leaf.options.some(({ long }) => long === '--json'),
        `${command.name()} ${leaf.name()}: --json`,
      );
    }
  }
});

t.test('shell: spellings of BookKeeper are understood', async (t) => {
  t.same(withLongOptions(['recover', 'b1', '-dr', '-rate', '5', '-q']), ['recover', 'b1', '--dryrun', '--rate', '5', '-q']);
  t.same(withLongOptions(['listbookies', '-rw']), ['listbookies', '--rw']);
});
