import { type BookieId, bookieId } from '@daybook/proto';
import type { Command } from 'commander';
import { cliErrors } from '../errors.js';

export function withJson(command: Command): Command {
  return command.option('--json', 'for programs: JSON, one object per line where there are many');
}

/** Of a bookie that does not run. */
export function withFolder(command: Command): Command {
  return command
    .option('-d, --data <folder>', 'folder of a stopped bookie, as given to daybook bookie or daybook standalone')
    .option('--journal <folder...>', 'its journalDirectories, when its VERSION file cannot be read')
    .option('--ledgers <folder...>', 'its ledgerDirectories, when its VERSION file cannot be read');
}

/** Of one that runs. */
export function withLive(command: Command): Command {
  return command.option('--http <host:port>', 'HTTP service of a running bookie');
}

export function withCluster(command: Command): Command {
  return command.option(
    '-m, --metadata <url>',
    "the cluster's metadata, zk://HOST:PORT[,HOST:PORT...]/PATH (default: DAYBOOK_METADATA)",
    process.env.DAYBOOK_METADATA,
  );
}

/** For what cannot be undone. */
export function withConfirmation(command: Command): Command {
  return command.option('-f, --force', 'really do it; without it, only what would be done is said');
}

export function examples(...lines: readonly string[]): string {
  return `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.map((line) => `  daybook shell ${line}`).join('\n')}`;
}

export interface PlaceOptions {
  data?: string;
  http?: string;
}

/** Either of two ways is wanted, never both. */
export function onePlace({ data, http }: PlaceOptions): 'folder' | 'live' {
  if (data !== undefined && http !== undefined)
    throw cliErrors.USAGE('say either --data (of a stopped bookie) or --http (of a running one), not both');
  if (data === undefined && http === undefined)
    throw cliErrors.USAGE('say which bookie: --data FOLDER of a stopped one, or --http HOST:PORT of a running one');
  return http === undefined ? 'folder' : 'live';
}

/** The HTTP address of a running bookie. */
export function liveAddress({ http }: PlaceOptions): string {
  if (http === undefined) throw cliErrors.USAGE('say which running bookie: --http HOST:PORT, its httpPort');
  return http;
}

/** A bookie's id as somebody typed it. */
export function typedBookieId(text: string): BookieId {
  try {
    return bookieId(text);
  } catch (error) {
    throw cliErrors.USAGE(error instanceof Error ? error.message : String(error));
  }
}
