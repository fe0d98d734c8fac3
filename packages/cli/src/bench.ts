import { Command } from 'commander';

export function command(): Command {
  return new Command('bench').description('being built');
}
