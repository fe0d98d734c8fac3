import { Command } from 'commander';
import type { LiveCommandOptions, ScrubOptions } from './live-actions.js';
import { examples, withJson, withLive } from './shell-options.js';

const actions = () => import('./live-actions.js');

/** Commands that tell a running bookie what to do. */
export function liveCommands(): Command[] {
  return [garbageCommand(), scrubCommand(), readOnlyCommand()];
}

function garbageCommand(): Command {
  const gc = new Command('gc').description('Garbage collection and compaction of a running bookie.').addHelpText(
    'after',
    `
A bookie does this by itself: see gcWaitTime, minorCompactionInterval, majorCompactionInterval in docs/configuration.md.
${examples('gc status --http 127.0.0.1:8000', 'gc force --http 127.0.0.1:8000', 'gc compact major --http 127.0.0.1:8000', 'gc pause major minor --http 127.0.0.1:8000')}`,
  );
  const add = (name: string, description: string): Command => {
    const command = withJson(withLive(new Command(name))).description(description);
    gc.addCommand(command);
    return command;
  };
  add('status', 'What it does now and did since the start, and each entry log with its live share.').action(async (options: LiveCommandOptions) =>
    (await actions()).garbageStatus(options),
  );
  add('force', 'Now: find deleted ledgers, remove dead entry logs, and compact as the settings say, whatever the intervals are.').action(
    async (options: LiveCommandOptions) => (await actions()).forceGarbageCollection(options),
  );
  add('compact', 'Now: garbage collection with this compaction, even if compaction is paused.')
    .argument('<kind>', 'minor or major')
    .action(async (kind: string, options: LiveCommandOptions) => (await actions()).compact(kind, options));
  add('pause', 'Begin no compaction until resume.')
    .argument('[kind...]', 'minor, major (default: both)')
    .action(async (kinds: string[], options: LiveCommandOptions) => (await actions()).switchCompaction('suspend', kinds, options));
  add('resume', 'Let compaction go on.')
    .argument('[kind...]', 'minor, major (default: both)')
    .action(async (kinds: string[], options: LiveCommandOptions) => (await actions()).switchCompaction('resume', kinds, options));
  return gc;
}

function scrubCommand(): Command {
  return withJson(withLive(new Command('scrub')))
    .description(
      'Check all entry logs and indexes of a running bookie at its bounded rate, and print what was found. A stopped one: localconsistencycheck.',
    )
    .option('--status', 'start nothing: what runs now and what the last check found')
    .option('--no-wait', 'start it and do not wait for its end')
    .addHelpText('after', examples('scrub --http 127.0.0.1:8000', 'scrub --status --http 127.0.0.1:8000 --json'))
    .action(async (options: ScrubOptions) => (await actions()).scrub(options));
}

function readOnlyCommand(): Command {
  return withJson(withLive(new Command('readonly')))
    .description('Show whether a running bookie takes entries and why not; on and off are kept over restarts.')
    .argument('[wish]', 'on or off')
    .addHelpText('after', examples('readonly --http 127.0.0.1:8000', 'readonly on --http 127.0.0.1:8000'))
    .action(async (wish: string | undefined, options: LiveCommandOptions) => (await actions()).readOnly(wish, options));
}
