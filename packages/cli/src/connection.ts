import { Client } from '@daybook/client';
import type { Command } from 'commander';

export interface ConnectionOptions {
  url: string;
  token?: string;
}

/** The options of every command that talks to a running broker. */
export function withConnection(command: Command): Command {
  return command
    .option('-u, --url <url>', 'a broker of the cluster', process.env.DAYBOOK_URL ?? 'http://127.0.0.1:8080')
    .option('--token <jwt>', 'JSON Web Token (default: DAYBOOK_TOKEN)', process.env.DAYBOOK_TOKEN);
}

export function clientOf(options: ConnectionOptions): Client {
  return new Client(options.token === undefined ? { url: options.url } : { url: options.url, token: options.token });
}
