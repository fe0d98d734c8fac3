/** What the ledger client tells operators: one line per change of state, nothing per entry. A pino logger fits. */
export interface LedgerLogger {
  debug(fields: object, text: string): void;
  info(fields: object, text: string): void;
  warn(fields: object, text: string): void;
}

export const silentLogger: LedgerLogger = { debug() {}, info() {}, warn() {} };
