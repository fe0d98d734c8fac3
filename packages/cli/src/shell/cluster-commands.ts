import { Command } from 'commander';
import { wholeNumber } from '../option-values.js';
import type {
  BookieInfoOptions,
  DeleteLedgerOptions,
  LedgerMetadataOptions,
  ListBookiesOptions,
  ListLedgersOptions,
  PlainClusterOptions,
} from './cluster-actions.js';
import type { ReadLedgerOptions, SimpleTestOptions } from './ledger-actions.js';
import { examples, withCluster, withConfirmation, withFolder, withJson, withLive } from './shell-options.js';

const actions = () => import('./cluster-actions.js');
const ledgerActions = () => import('./ledger-actions.js');
const metadata = '--metadata zk://127.0.0.1:2181/daybook';

/** Commands that ask a whole cluster. */
export function clusterCommands(): Command[] {
  return [...ledgerCommands(), ...bookieCommands(), ...factCommands()];
}

function ledgerCommands(): Command[] {
  return [
    withJson(withCluster(new Command('readledger')))
      .description('Read entries of a ledger over the network. The digest and password of its record are used; the writer is not disturbed.')
      .argument('<ledger>', 'its id', wholeNumber(0))
      .option('--firstentryid <id>', 'first entry (BookKeeper: -fe)', wholeNumber(0), 0)
      .option('--lastentryid <id>', 'last entry (-le; default: the last one known to be acknowledged)', wholeNumber(0))
      .option('-b, --bookie <id>', 'only from this bookie: which of its entries can it give?')
      .option('-r, --force-recovery', 'first fence its writer, find the true end and close it')
      .option('--msg', 'print the payloads')
      .addHelpText('after', examples(`readledger 7 --msg ${metadata}`, `readledger 7 -b bookie-1 --json ${metadata}`))
      .action(async (id: number, options: ReadLedgerOptions) => (await ledgerActions()).readLedger(id, options)),
    withJson(withLive(withCluster(withFolder(new Command('listledgers')))))
      .description('Ids of all ledgers of the cluster; with --http, those a running bookie knows; with --data, what a bookie has of each.')
      .option('--meta', 'their records too')
      .option('--bookieid <id>', 'only those that name this bookie')
      .addHelpText(
        'after',
        examples(
          `listledgers ${metadata}`,
          'listledgers --data ./bookie-1',
          'listledgers --http 127.0.0.1:8000',
          `listledgers --bookieid bookie-1 --meta --json ${metadata}`,
        ),
      )
      .action(async (options: ListLedgersOptions) => (await actions()).listLedgers(options)),
    withJson(withConfirmation(withCluster(new Command('ledgermetadata'))))
      .description('The record of a ledger: state, quorums, ensembles. May be kept in a file and put back from it.')
      .argument('<ledger>', 'its id', wholeNumber(0))
      .option('--dumptofile <file>', 'write its bytes to a file')
      .option('--restorefromfile <file>', 'make it from such a file, when there is none')
      .option('--update', 'with --restorefromfile: replace the one that is there')
      .addHelpText('after', examples(`ledgermetadata 7 ${metadata}`, `ledgermetadata 7 --dumptofile ledger-7 ${metadata}`))
      .action(async (id: number, options: LedgerMetadataOptions) => (await actions()).ledgerMetadata(id, options)),
    withJson(withConfirmation(withCluster(new Command('deleteledger'))))
      .description('Delete a ledger: its record at once, its entries when bookies collect garbage. It cannot be brought back.')
      .argument('<ledger>', 'its id', wholeNumber(0))
      .addHelpText('after', examples(`deleteledger 7 --force ${metadata}`))
      .action(async (id: number, options: DeleteLedgerOptions) => (await actions()).deleteLedger(id, options)),
    withJson(withCluster(new Command('simpletest')))
      .description('Make a ledger, write entries, close it, read them back, compare, delete it: does this cluster work?')
      .option('-e, --ensemble <count>', 'bookies', wholeNumber(1, 64), 3)
      .option('-w, --writequorum <count>', 'copies of each entry', wholeNumber(1, 64), 2)
      .option('-a, --ackquorum <count>', 'copies on disk before an entry is acknowledged', wholeNumber(1, 64), 2)
      .option('-n, --numentries <count>', 'entries', wholeNumber(1, 10_000_000), 100)
      .option('--entrybytes <count>', 'bytes of each', wholeNumber(1, 1 << 20), 100)
      .addHelpText('after', examples(`simpletest -e 1 -w 1 -a 1 ${metadata}`))
      .action(async (options: SimpleTestOptions) => (await ledgerActions()).simpleTest(options)),
  ];
}

function bookieCommands(): Command[] {
  return [
    withJson(withCluster(new Command('listbookies')))
      .description('Bookies of the cluster: -rw those that take entries, -ro those that are read-only, -a all, those that are down as well.')
      .option('--rw', 'writable (default)')
      .option('--ro', 'read-only')
      .option('-a, --all', 'all that have a cookie')
      .addHelpText('after', examples(`listbookies -rw ${metadata}`, `listbookies -a --json ${metadata}`))
      .action(async (options: ListBookiesOptions) => (await actions()).showBookies(options)),
    withJson(withCluster(withLive(new Command('bookieinfo'))))
      .description('Free and total space of all bookies that are up; with --http, what there is to know about one bookie.')
      .addHelpText('after', examples(`bookieinfo ${metadata}`, 'bookieinfo --http 127.0.0.1:8000'))
      .action(async (options: BookieInfoOptions) => (await actions()).bookieInfo(options)),
    withJson(withCluster(new Command('endpointinfo')))
      .description('Where a bookie says it can be reached, and which incarnation of its disks it serves.')
      .argument('<bookie>', 'its id')
      .addHelpText('after', examples(`endpointinfo bookie-1 ${metadata}`))
      .action(async (id: string, options: PlainClusterOptions) => (await actions()).endpointInfo(id, options)),
  ];
}

function factCommands(): Command[] {
  return [
    withJson(withCluster(new Command('whatisinstanceid')))
      .description('The id of the cluster. Bookies of another one are refused.')
      .addHelpText('after', examples(`whatisinstanceid ${metadata}`))
      .action(async (options: PlainClusterOptions) => (await actions()).instanceId(options)),
    withJson(withCluster(new Command('clusterinfo')))
      .description('How many bookies are writable, read-only and down; who audits; whether ledgers lack copies.')
      .addHelpText('after', examples(`clusterinfo ${metadata}`))
      .action(async (options: PlainClusterOptions) => (await actions()).showCluster(options)),
  ];
}
