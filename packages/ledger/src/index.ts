export { type BookieConnection, BookiePool, type BookiePoolDependencies, type ConnectBookie, type PooledBookie } from './bookie-pool.js';
export { ledgerErrors } from './errors.js';
export type * from './ledger-api.js';
export { createLedgerClient, type LedgerClientDependencies } from './ledger-client.js';
export { defaultLedgerClientOptions, type LedgerClientOptions } from './ledger-client-options.js';
