/** Exit codes of every sub-command, also told by `daybook --help` texts. */
export const exitCodes = {
  ok: 0,
  /** It ran and failed: the reason is on standard error. */
  failed: 1,
  /** The command line or the configuration is wrong. */
  usage: 2,
} as const;

/** What a person should read: the error's own text; with `DAYBOOK_DEBUG=1` the stack and causes too. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return `daybook: ${String(error)}`;
  if (process.env.DAYBOOK_DEBUG === '1')
    return `daybook: ${error.stack ?? error.message}${error.cause === undefined ? '' : `\ncaused by: ${String(error.cause)}`}`;
  return `daybook: ${error.message}`;
}
