import { Command } from 'commander';
import type { CookieOptions, FormatOptions, InitOptions } from './cookie-actions.js';
import { examples, withCluster, withConfirmation, withFolder, withJson } from './shell-options.js';

const actions = () => import('./cookie-actions.js');
const metadata = '--metadata zk://127.0.0.1:2181/daybook';

/** Commands around the identity of bookies: the cookie on their disks and the one in the metadata, which must be equal. */
export function cookieCommands(): Command[] {
  return [...recordCommands(), ...useCommands()];
}

function recordCommands(): Command[] {
  const withFile = (command: Command): Command => command.option('--cookie-file <file>', 'a file with the cookie (BookKeeper: -cf)');
  return [
    withJson(withCluster(withFolder(new Command('cookie_get'))))
      .description(
        'Print the cookie of a bookie: in the metadata, with --data those on its disks, with both all of them. They must be equal for it to start.',
      )
      .argument('[bookie]', 'its id')
      .addHelpText(
        'after',
        examples(`cookie_get bookie-1 ${metadata}`, 'cookie_get --data ./bookie-1', `cookie_get bookie-1 --data ./bookie-1 ${metadata}`),
      )
      .action(async (id: string | undefined, options: CookieOptions) => (await actions()).cookieGet(id, options)),
    withJson(withCluster(withFolder(withFile(new Command('cookie_create')))))
      .description('Put the cookie of a bookie into the metadata, when it was deleted there by mistake: from its disks (--data) or a file.')
      .argument('<bookie>', 'its id')
      .addHelpText('after', examples(`cookie_create bookie-1 --data ./bookie-1 ${metadata}`))
      .action(async (id: string, options: CookieOptions) => (await actions()).cookieCreate(id, options)),
    withJson(withConfirmation(withCluster(withFolder(withFile(new Command('cookie_update'))))))
      .description('Replace the cookie of a bookie in the metadata by the one on its disks (--data) or in a file.')
      .argument('<bookie>', 'its id')
      .addHelpText('after', examples(`cookie_update bookie-1 --data ./bookie-1 --force ${metadata}`))
      .action(async (id: string, options: CookieOptions) => (await actions()).cookieUpdate(id, options)),
    withJson(withConfirmation(withCluster(new Command('cookie_delete'))))
      .description('Delete the cookie of a bookie that is down and that no ledger names any more. --force skips both checks.')
      .argument('<bookie>', 'its id')
      .addHelpText('after', examples(`cookie_delete bookie-1 ${metadata}`))
      .action(async (id: string, options: CookieOptions) => (await actions()).cookieDelete(id, options)),
    withJson(withFolder(new Command('cookie_generate')))
      .description('Write the cookie of a stopped bookie to a file, for cookie_create elsewhere.')
      .requiredOption('-o, --output-file <file>', 'where to')
      .addHelpText('after', examples('cookie_generate --data ./bookie-1 -o bookie-1.cookie'))
      .action(async (options: CookieOptions) => (await actions()).cookieGenerate(options)),
  ];
}

function useCommands(): Command[] {
  return [
    withJson(withConfirmation(withCluster(withFolder(new Command('bookieformat')))))
      .description(
        'Wipe the folders of a stopped bookie: everything it holds is gone. First let its ledgers be copied from their other replicas: recover.',
      )
      .option('--bookieid <id>', 'whose they are, when the folders are empty or lost their VERSION files')
      .option('--deletecookie', 'its cookie in the metadata too, when no ledger names it any more (BookKeeper: -d)')
      .addHelpText('after', examples('bookieformat --data ./bookie-1', `bookieformat --data ./bookie-1 --force --deletecookie ${metadata}`))
      .action(async (options: FormatOptions) => (await actions()).formatBookie(options)),
    withJson(withCluster(withFolder(new Command('initbookie'))))
      .description(
        'Check that a bookie may start with this id and these folders for the first time: empty, no cookie, named by no ledger. Changes nothing.',
      )
      .requiredOption('--bookieid <id>', 'its id')
      .addHelpText('after', examples(`initbookie --bookieid bookie-4 --data ./bookie-4 ${metadata}`))
      .action(async (options: InitOptions) => (await actions()).initBookie(options)),
  ];
}
