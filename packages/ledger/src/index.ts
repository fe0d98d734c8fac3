export { ledgerErrors } from './errors.js';
export type * from './ledger-api.js';
