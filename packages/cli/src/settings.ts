import { type DeepReadonly, loadConfig } from '@daybook/runtime';
import type { Command } from 'commander';
import type { ZodObject, z } from 'zod';
import { property } from './option-values.js';

/** Variables with our prefix that are not settings of a server. */
export const otherVariables: readonly string[] = [
  'DAYBOOK_CONFIG',
  'DAYBOOK_DEBUG',
  'DAYBOOK_JAVA',
  'DAYBOOK_KILL_ROUNDS',
  'DAYBOOK_TOKEN',
  'DAYBOOK_URL',
  'DAYBOOK_WITHOUT_ZOOKEEPER',
  'DAYBOOK_ZOOKEEPER_CLASSPATH',
];

export interface SettingOptions {
  config?: string;
  set: Record<string, string>;
}

/** The options by which every server takes its settings. */
export function withSettings(command: Command): Command {
  return withSet(command.option('--config <file>', 'settings as JSON, comments allowed (default: DAYBOOK_CONFIG)', process.env.DAYBOOK_CONFIG));
}

/** The same without a file. */
export function withSet(command: Command): Command {
  return command
    .option('--set <name=value>', 'any setting of docs/configuration.md, may be repeated', property, {})
    .option('--log-format <format>', 'text or json')
    .option('--log-level <level>', 'debug, info, warn or error');
}

/** File < environment < flags; `flags` are the command's own options under the names of their settings. */
export function loadSettings<Schema extends ZodObject>(
  schema: Schema,
  options: SettingOptions & { logFormat?: string; logLevel?: string },
  flags: Readonly<Record<string, unknown>>,
): DeepReadonly<z.output<Schema>> {
  return loadConfig({
    schema,
    file: options.config,
    environment: process.env,
    // Set for `daybook ledger`, it says nothing to a process without a cluster.
    environmentIgnored: 'metadata' in schema.shape ? otherVariables : [...otherVariables, 'DAYBOOK_METADATA'],
    flags: { ...options.set, logFormat: options.logFormat, logLevel: options.logLevel, ...flags },
  });
}

/** The settings of one part out of those of a whole process. */
export function settingsOf(schema: ZodObject, all: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => key in schema.shape));
}
