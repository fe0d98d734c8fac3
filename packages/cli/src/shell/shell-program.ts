import { Command } from 'commander';
import { clusterCommands } from './cluster-commands.js';
import { cookieCommands } from './cookie-commands.js';
import { folderCommands } from './folder-commands.js';
import { liveCommands } from './live-commands.js';
import { repairCommands } from './repair-commands.js';

const groups: readonly (readonly [heading: string, commands: () => Command[]])[] = [
  ['Inside one bookie:', folderCommands],
  ['A running bookie:', liveCommands],
  ['Ledgers and bookies of a cluster:', clusterCommands],
  ['Copies and repair:', repairCommands],
  ['Identity of bookies:', cookieCommands],
];

/** All commands of `daybook shell`; `outer` is the command it is run by. */
export function shellProgram(outer?: Command): Command {
  const shell = new Command('daybook shell')
    .description("Look inside bookies and a cluster, and repair them. The names are those of BookKeeper's shell where the meaning is the same.")
    .usage('COMMAND [options]')
    .showHelpAfterError('Add --help for the options and examples.')
    .exitOverride();
  if (outer !== undefined) shell.copyInheritedSettings(outer).helpOption('-h, --help', 'display help for command');
  for (const [heading, commands] of groups) for (const command of commands()) shell.addCommand(command.helpGroup(heading));
  shell.addHelpText(
    'after',
    `
Three ways to say what is meant:
  --data FOLDER        the folder of a bookie that is stopped. Its lock is held meanwhile; a running bookie is refused, never disturbed.
  --http HOST:PORT     a running bookie, by the HTTP address it prints at its start.
  --metadata zk://...  the whole cluster (or DAYBOOK_METADATA).
Every command has --json. What destroys something says what it would do, and does it only with --force (--yes). Problems found: exit code 1.

Examples:
  daybook shell clusterinfo --metadata zk://127.0.0.1:2181/daybook
  daybook shell bookieinfo --http 127.0.0.1:8000
  daybook shell lastmark --data ./bookie-1
  daybook shell recover bookie-3 --dryrun --metadata zk://127.0.0.1:2181/daybook

What each is for, and the same over HTTP: docs/shell.md.`,
  );
  inherit(shell);
  return shell;
}

function inherit(parent: Command): void {
  for (const child of parent.commands) {
    child.copyInheritedSettings(parent);
    inherit(child);
  }
}

/** BookKeeper's options of several letters behind one dash. */
const spellings: Readonly<Record<string, string>> = {
  '-rw': '--rw',
  '-ro': '--ro',
  '-dr': '--dryrun',
  '-sk': '--skipopenledgers',
  '-sku': '--skipunrecoverableledgers',
  '-rate': '--rate',
  '-fe': '--firstentryid',
  '-le': '--lastentryid',
  '-txn': '--txn',
  '-log': '--log',
  '-idx': '--idx',
  '-cf': '--cookie-file',
  '-calc': '--checkallledgers',
  '-ppc': '--placementpolicycheck',
  '-rc': '--replicascheck',
  '-bookieid': '--bookieid',
  '-missingreplica': '--missingreplica',
  '-excludingmissingreplica': '--excludingmissingreplica',
  '-deletecookie': '--deletecookie',
  '-query': '--query',
  '-dryrun': '--dryrun',
  '-force': '--force',
  '-msg': '--msg',
  '-startpos': '--startpos',
  '-endpos': '--endpos',
  '-ensemble': '--ensemble',
  '-writeQuorum': '--writequorum',
  '-ackQuorum': '--ackquorum',
  '-numEntries': '--numentries',
};

/** The words as commander understands them. */
export function withLongOptions(words: readonly string[]): string[] {
  return words.map((word) => spellings[word] ?? word);
}
