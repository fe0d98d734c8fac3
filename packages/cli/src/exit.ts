import { errorCode } from '@daybook/runtime';

/** Exit codes of every sub-command, also told by `daybook --help`. */
export const exitCodes = {
  ok: 0,
  /** It ran and failed: the reason is on standard error. */
  failed: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
} as const;

/** By code and not by table: this file is loaded before any of the packages that define them. */
const usageErrors: ReadonlySet<string | undefined> = new Set([
  'CLI_USAGE',
  'CONFIG_INVALID',
  'CONFIG_UNREADABLE',
  'BROKER_CONFIG_INVALID',
  'CLUSTER_BAD_METADATA_URL',
  'LEDGER_BAD_QUORUM',
  'BAD_ARGUMENT', // Of the client library.
]);

export function exitCodeOf(error: unknown): number {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  return usageErrors.has(code) ? exitCodes.usage : exitCodes.failed;
}

export function isDebugging(): boolean {
  return process.env.DAYBOOK_DEBUG === '1';
}

/** What a person should read: the error's own text; with `DAYBOOK_DEBUG=1` its code, the stacks and the causes too. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return `daybook: ${String(error)}`;
  if (!isDebugging()) return `daybook: ${error.message}`;
  const code = errorCode(error);
  let text = `daybook: ${code === undefined ? '' : `[${code}] `}${error.stack ?? error.message}`;
  for (let cause = error.cause; cause !== undefined; cause = cause instanceof Error ? cause.cause : undefined) {
    text += `\ncaused by: ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`;
  }
  return text;
}
