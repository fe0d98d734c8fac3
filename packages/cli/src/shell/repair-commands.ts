import { Command } from 'commander';
import { wholeNumber } from '../option-values.js';
import type { PlainClusterOptions } from './cluster-actions.js';
import type { AutoRecoveryOptions, DecommissionOptions, DelayOptions, RecoverOptions, UnderReplicatedOptions } from './repair-actions.js';
import { examples, withCluster, withConfirmation, withJson } from './shell-options.js';

const actions = () => import('./repair-actions.js');
const metadata = '--metadata zk://127.0.0.1:2181/daybook';

/** Commands around the copies of ledgers. */
export function repairCommands(): Command[] {
  return [...auditCommands(), ...switchCommands(), recoverCommand(), decommissionCommand()];
}

function auditCommands(): Command[] {
  return [
    withJson(withCluster(new Command('whoisauditor')))
      .description('Which process looks for lost bookies and missing copies.')
      .addHelpText('after', examples(`whoisauditor ${metadata}`))
      .action(async (options: PlainClusterOptions) => (await actions()).whoIsAuditor(options)),
    withJson(withCluster(new Command('triggeraudit')))
      .description('Ask the auditor for an audit now, without waiting for the delay of lost bookies.')
      .addHelpText('after', examples(`triggeraudit ${metadata}`))
      .action(async (options: PlainClusterOptions) => (await actions()).triggerAudit(options)),
    withJson(withCluster(new Command('forceauditchecks')))
      .description('Make periodic checks of the auditor due at once (default: all).')
      .option('--checkallledgers', 'that every copy can be read (BookKeeper: -calc)')
      .option('--placementpolicycheck', 'that copies are spread as wished (-ppc)')
      .option('--replicascheck', 'that bookies have what metadata says (-rc)')
      .addHelpText('after', examples(`forceauditchecks --checkallledgers ${metadata}`))
      .action(async (options: PlainClusterOptions & Record<string, unknown>) => (await actions()).forceAuditChecks(options)),
    withJson(withCluster(new Command('listunderreplicated')))
      .description('Ledgers that are marked because copies are missing or damaged, and which bookies lack them.')
      .option('--missingreplica <bookie>', 'only those that miss a copy on this bookie')
      .option('--excludingmissingreplica <bookie>', 'only those that miss no copy on this bookie')
      .addHelpText('after', examples(`listunderreplicated ${metadata}`, `listunderreplicated --missingreplica bookie-1 ${metadata}`))
      .action(async (options: UnderReplicatedOptions) => (await actions()).listUnderReplicated(options)),
    withJson(withCluster(new Command('queryautorecoverystatus')))
      .description('Ledgers that are being copied right now.')
      .addHelpText('after', examples(`queryautorecoverystatus ${metadata}`))
      .action(async (options: PlainClusterOptions) => (await actions()).queryStatus(options)),
  ];
}

function switchCommands(): Command[] {
  return [
    withJson(withCluster(new Command('autorecovery')))
      .description('Show, enable or disable repair in the whole cluster. Disabled, nothing new is copied, whatever is lost: for short works only.')
      .option('-e, --enable', 'copy what is missing')
      .option('-d, --disable', 'begin nothing')
      .option('-s, --status', 'show which (default)')
      .addHelpText('after', examples(`autorecovery --status ${metadata}`, `autorecovery --disable ${metadata}`))
      .action(async (options: AutoRecoveryOptions) => (await actions()).autoRecovery(options)),
    withJson(withCluster(new Command('lostbookierecoverydelay')))
      .description('How long a single lost bookie is waited for before its ledgers are copied. Setting it also triggers an audit.')
      .option('-g, --get', 'show it (default)')
      .option('-s, --set <seconds>', 'set it for the whole cluster', wholeNumber(0, 31_536_000))
      .addHelpText('after', examples(`lostbookierecoverydelay ${metadata}`, `lostbookierecoverydelay --set 300 ${metadata}`))
      .action(async (options: DelayOptions) => (await actions()).recoveryDelay(options)),
  ];
}

function recoverCommand(): Command {
  return withJson(withConfirmation(withCluster(new Command('recover'))))
    .description('Move the copies of lost bookies to others, now and from here. Ledgers that are still written are fenced and closed first.')
    .argument('<bookies>', 'ids, comma-separated')
    .option('-q, --query', 'only list the ledgers that name them')
    .option('--dryrun', 'say what would be done with each ledger (BookKeeper: -dr)')
    .option('-l, --ledger <id>', 'only this ledger', wholeNumber(0))
    .option('--skipopenledgers', 'leave ledgers alone that are still written (-sk)')
    .option('--skipunrecoverableledgers', 'go on with the others when one cannot be copied (-sku)')
    .option('-d, --deletecookie', 'in the end, when nothing names them any more: their ids are free then')
    .option('--rate <bytes>', 'bytes per second at most (-rate); 0: no limit', wholeNumber(0), 0)
    .addHelpText(
      'after',
      `
Interrupted, what is done stays done; called again it goes on. To have the work done by the running autorecovery processes: decommissionbookie.
${examples(`recover bookie-3 --query ${metadata}`, `recover bookie-3 -dr ${metadata}`, `recover bookie-3 --force --deletecookie ${metadata}`)}`,
    )
    .action(async (bookies: string, options: RecoverOptions) => (await actions()).recover(bookies, options));
}

function decommissionCommand(): Command {
  return withJson(withCluster(new Command('decommissionbookie')))
    .description(
      'Empty a bookie that is stopped (or read-only) through autorecovery: mark its ledgers, wait, verify that none names it, delete its cookie.',
    )
    .argument('[bookie]', 'its id')
    .option('--bookieid <id>', 'the same, as BookKeeper has it')
    .option('--keepcookie', 'leave its cookie: needed while it is up (read-only)')
    .option('--cancel', 'end a decommission that was begun; the bookie keeps what it still has')
    .addHelpText(
      'after',
      `
Interrupted, the work goes on by itself; called again it goes on watching. Nothing happens without autorecovery running somewhere.
${examples(`decommissionbookie bookie-3 ${metadata}`, `decommissionbookie bookie-3 --cancel ${metadata}`)}`,
    )
    .action(async (bookie: string | undefined, options: DecommissionOptions) => (await actions()).decommission(bookie, options));
}
