import { Malformed } from '../errors.js';
import type { BookieCode } from './service.js';

/** Numbers of the codes on the wire and in records (persisted): BookKeeper's status codes, and two of our own. */
export const bookieCodeNumbers: Readonly<Record<BookieCode, number>> = {
  OK: 0,
  NO_LEDGER: 402,
  NO_ENTRY: 403,
  BAD_REQUEST: 404,
  IO_ERROR: 501,
  UNAUTHORIZED: 502,
  FENCED: 504,
  READ_ONLY: 505,
  TOO_MANY_REQUESTS: 506,
  UNKNOWN_LEDGER_STATE: 507,
  UNAVAILABLE: 600,
  TIMEOUT: 601,
};

const codeOfNumber = new Map(Object.entries(bookieCodeNumbers).map(([code, number]) => [number, code as BookieCode]));

/** A number this program does not know is an error, never a guess: it might have been a negative. */
export function bookieCodeOf(number: number): BookieCode {
  const code = codeOfNumber.get(number);
  if (code === undefined) throw new Malformed(`code ${number} is unknown`);
  return code;
}
