import { Command, Option } from 'commander';
import type { AppendOptions, CreateOptions, InfoOptions, LedgerOptions, ReadOptions } from './ledger/ledger-commands.js';
import { property, wholeNumber } from './option-values.js';

export function command(): Command {
  const ledger = new Command('ledger')
    .description('Use the replicated ledgers of a cluster directly, without a broker: create, append, read, info, list.')
    .addHelpText(
      'after',
      `
A ledger has one writer for its whole life: the process that created it. So 'append' makes a new ledger, writes to it, and prints its id first.

Examples (the cluster's --metadata URL may also stand in DAYBOOK_METADATA):
  export DAYBOOK_METADATA=zk://127.0.0.1:2181/daybook
  daybook ledger append -m first second --close
  seq 1000 | daybook ledger append --ensemble 3 --write-quorum 3 --ack-quorum 2
  daybook ledger read 7 --first 0 --last 9
  daybook ledger info 7`,
    );
  ledger.addCommand(createCommand());
  ledger.addCommand(appendCommand());
  ledger.addCommand(readCommand());
  ledger.addCommand(infoCommand());
  ledger.addCommand(listCommand());
  return ledger;
}

const commands = () => import('./ledger/ledger-commands.js');

function withCluster(command: Command): Command {
  return command.option('--metadata <url>', "the cluster's metadata, zk://HOST:PORT[,HOST:PORT...]/PATH", process.env.DAYBOOK_METADATA);
}

function withPassword(command: Command): Command {
  return withCluster(command).option('--password <text>', "the ledger's password", '');
}

function withQuorums(command: Command): Command {
  return withPassword(command)
    .option('-e, --ensemble <count>', 'bookies its entries are spread over', wholeNumber(1, 64), 3)
    .option('-w, --write-quorum <count>', 'copies of each entry', wholeNumber(1, 64), 3)
    .option('-a, --ack-quorum <count>', 'copies on disk before an entry is acknowledged', wholeNumber(1, 64), 2)
    .addOption(new Option('--digest <type>', 'checksum of each entry').choices(['CRC32C', 'CRC32', 'HMAC', 'DUMMY']).default('CRC32C'))
    .option('--property <name=value>', 'custom metadata, may be repeated', property, {});
}

function createCommand(): Command {
  return withQuorums(new Command('create'))
    .description('Make an empty ledger and print its id. Nobody can append to it later: for that see append.')
    .option('--close', 'close it at once')
    .action(async (options: CreateOptions) => (await commands()).create(options));
}

function appendCommand(): Command {
  return withQuorums(new Command('append'))
    .description(
      'Make a ledger and append entries: those given with -m, else one per line of standard input. Prints "ledger ID", then each entry id.',
    )
    .argument('[ledger]', 'not possible: see daybook ledger --help')
    .option('-m, --message <text...>', 'payloads of the entries')
    .option('--close', 'close it in the end; without it the ledger stays open, as if its writer had crashed')
    .option('-q, --quiet', 'print no entry ids')
    .action(async (ledgerId: string | undefined, options: AppendOptions) => (await commands()).append(ledgerId, options));
}

function readCommand(): Command {
  return withPassword(new Command('read'))
    .description('Print entries: id, a tab, and the payload (as base64 after "base64:" when it is no text).')
    .argument('<ledger>', 'its id', wholeNumber(0))
    .option('--first <entry>', 'first entry', wholeNumber(0), 0)
    .option('--last <entry>', 'last entry (default: the last one known to be acknowledged)', wholeNumber(0))
    .option('--recover', 'first fence its writer, find the true end and close it')
    .option('--json', 'one JSON object per entry')
    .action(async (ledgerId: number, options: ReadOptions) => (await commands()).read(ledgerId, options));
}

function infoCommand(): Command {
  return withPassword(new Command('info'))
    .description('Show the record of a ledger, its last acknowledged entry, and which of its bookies are up.')
    .argument('<ledger>', 'its id', wholeNumber(0))
    .option('--json', 'as one JSON object')
    .action(async (ledgerId: number, options: InfoOptions) => (await commands()).info(ledgerId, options));
}

function listCommand(): Command {
  return withCluster(new Command('list'))
    .description('Print the ids of all ledgers, ascending.')
    .action(async (options: LedgerOptions) => (await commands()).list(options));
}
