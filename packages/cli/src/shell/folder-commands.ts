import { Command } from 'commander';
import { wholeNumber } from '../option-values.js';
import type { JournalOptions, ListFilesOptions, LogOptions, PlainOptions, ReadLogCommandOptions } from './folder-actions.js';
import { examples, withCluster, withConfirmation, withFolder, withJson, withLive } from './shell-options.js';

const actions = () => import('./folder-actions.js');

/** Commands that look into the files of one bookie. */
export function folderCommands(): Command[] {
  return [...markCommands(), ...readCommands(), ...ledgerCommands(), ...checkCommands(), journalCommand(), entryLogCommand()];
}

function markCommands(): Command[] {
  return [
    withJson(withLive(withFolder(new Command('lastmark'))))
      .description('Up to where the journals are covered by entry logs: a start replays what lies behind.')
      .addHelpText('after', examples('lastmark --data ./bookie-1', 'lastmark --http 127.0.0.1:8000'))
      .action(async (options: PlainOptions) => (await actions()).lastMark(options)),
    withJson(withLive(withFolder(new Command('listfilesondisc'))))
      .description('Journal files, entry logs and their indexes, with their sizes.')
      .option('--txn', 'journal files (BookKeeper: -txn)')
      .option('--log', 'entry logs')
      .option('--idx', 'indexes')
      .addHelpText('after', examples('listfilesondisc --data ./bookie-1 --log', 'listfilesondisc --http 127.0.0.1:8000 --json'))
      .action(async (options: ListFilesOptions) => (await actions()).listFiles(options)),
  ];
}

function readCommands(): Command[] {
  return [
    withJson(withFolder(new Command('readjournal')))
      .description(
        'Print the records of a journal file: which entries, fences and last-add-confirmed marks are in it. Damaged places are told and skipped.',
      )
      .argument('[file]', 'its id in hexadecimal, or its name (default: the one of the last mark)')
      .addHelpText('after', examples('readjournal --data ./bookie-1', 'readjournal 1a --data ./bookie-1 --json'))
      .action(async (file: string | undefined, options: PlainOptions) => (await actions()).readJournal(file, options)),
    withJson(withFolder(new Command('readlog')))
      .description('Print the entries of an entry log in the order of their places, each checked. Needs no index.')
      .argument('<log>', 'its id in hexadecimal, or its name')
      .option('-l, --ledger <id>', 'only this ledger', wholeNumber(0))
      .option('-e, --entry <id>', 'only this entry', wholeNumber(0))
      .option('--startpos <position>', 'only from this place on', wholeNumber(0))
      .option('--endpos <position>', 'only up to this place', wholeNumber(0))
      .option('--msg', 'the bytes of each entry too (header, digest, payload)')
      .addHelpText('after', examples('readlog 3 --data ./bookie-1', 'readlog 3 -l 7 -e 0 --msg --data ./bookie-1'))
      .action(async (log: string, options: ReadLogCommandOptions) => (await actions()).readLog(log, options)),
    withJson(withFolder(new Command('readlogmetadata')))
      .description('What an entry log holds of each ledger, according to its index.')
      .argument('[log]', 'its id in hexadecimal, or its name (default: all)')
      .addHelpText('after', examples('readlogmetadata 3 --data ./bookie-1'))
      .action(async (log: string | undefined, options: LogOptions) => (await actions()).readLogMetadata(log, options)),
    withJson(withCluster(withFolder(new Command('activeledgers'))))
      .description('Which ledgers of an entry log still exist in the cluster; when none does, garbage collection removes the log.')
      .argument('<log>', 'its id in hexadecimal, or its name')
      .addHelpText('after', examples('activeledgers 3 --data ./bookie-1 --metadata zk://127.0.0.1:2181/daybook'))
      .action(async (log: string, options: LogOptions) => (await actions()).activeLedgers(log, options)),
  ];
}

function ledgerCommands(): Command[] {
  return [
    withJson(withLive(withFolder(new Command('ledger'))))
      .description('Where a bookie has the entries of a ledger: the index. Of a running bookie only which entries there are.')
      .argument('<ledger>', 'its id', wholeNumber(0))
      .addHelpText('after', examples('ledger 7 --data ./bookie-1', 'ledger 7 --http 127.0.0.1:8000'))
      .action(async (ledgerId: number, options: PlainOptions) => (await actions()).ledgerIndex(ledgerId, options)),
  ];
}

function checkCommands(): Command[] {
  return [
    withJson(withFolder(new Command('localconsistencycheck')))
      .description(
        'Read every byte of entry logs, indexes and journals of a stopped bookie, and tell what is damaged. Changes nothing. A running one: scrub.',
      )
      .addHelpText('after', examples('localconsistencycheck --data ./bookie-1'))
      .action(async (options: PlainOptions) => (await actions()).consistencyCheck(options)),
    withJson(withLive(withFolder(new Command('bookiesanity'))))
      .description('Running: write an entry to this bookie alone and read it back. Stopped: would it start (identity, checkpoint, journals)?')
      .addHelpText('after', examples('bookiesanity --http 127.0.0.1:8000', 'bookiesanity --data ./bookie-1'))
      .action(async (options: PlainOptions) => (await actions()).sanity(options)),
  ];
}

function journalCommand(): Command {
  const journal = new Command('journal').description('Look at, and repair, journals because of which a bookie does not start.').addHelpText(
    'after',
    `
A bookie does not start when a record it may have acknowledged cannot be read. Best restore the file from the disk's other half or a backup. Otherwise:
  1. inspect says what is lost. 2. repair gives it up: the bookie then starts in limbo (answering "unknown" instead of "not here").
  3. Its ledgers are copied again (daybook autorecovery), and each leaves limbo by itself when it is whole. endlimbo ends that as a whole.
Or wipe it (daybook shell bookieformat) and recover all of its ledgers from their other replicas (daybook shell recover).
${examples('journal inspect --data ./bookie-1', 'journal repair --data ./bookie-1 --yes')}`,
  );
  journal.addCommand(
    withJson(withFolder(new Command('inspect')))
      .description('What cannot be read, and would be given up by a repair. Changes nothing.')
      .action(async (options: JournalOptions) => (await actions()).inspectJournal(options)),
  );
  journal.addCommand(
    withJson(withFolder(new Command('repair')))
      .description('Give up what cannot be read, so that the bookie starts (in limbo). The old files stay as *.damaged.')
      .option('-y, --yes', 'really do it; without it, only what would be lost is said')
      .action(async (options: JournalOptions) => (await actions()).repairJournal(options)),
  );
  journal.addCommand(
    withJson(withConfirmation(withFolder(new Command('endlimbo'))))
      .description('Let a bookie say "not here" again of everything, at once. Not needed: each ledger leaves limbo by itself when it is whole again.')
      .action(async (options: JournalOptions) => (await actions()).endLimboOf(options)),
  );
  return journal;
}

function entryLogCommand(): Command {
  const entryLog = new Command('entrylog')
    .description('Look at, and give up, entry logs because of which a bookie cannot say "not here" any more.')
    .addHelpText(
      'after',
      `
A log that is missing, cut off or cannot be read, and one with parts of which nobody knows whose they were, may hold any entry: the bookie answers with an error
what it does not find elsewhere. Best restore the file. Otherwise:
  1. inspect says what is lost. 2. giveup drops it: the bookie starts in limbo (answering "unknown" instead of "not here"), with what can be read of these logs.
  3. Its ledgers are copied again (daybook autorecovery), and each leaves limbo by itself when it is whole.
${examples('entrylog inspect --data ./bookie-1', 'entrylog giveup --data ./bookie-1 --force')}`,
    );
  entryLog.addCommand(
    withJson(withFolder(new Command('inspect')))
      .description('Which entry logs of a stopped bookie are damaged beyond what it mends itself, and what was in them. Changes nothing.')
      .action(async (options: JournalOptions) => (await actions()).inspectEntryLogs(options)),
  );
  entryLog.addCommand(
    withJson(withConfirmation(withFolder(new Command('giveup'))))
      .description(
        'Give up what cannot be read, so that the bookie can be certain again once its ledgers were copied. Files that are dropped stay as *.damaged.',
      )
      .action(async (options: JournalOptions) => (await actions()).giveUpEntryLogs(options)),
  );
  return entryLog;
}
