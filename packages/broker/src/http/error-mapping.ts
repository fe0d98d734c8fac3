import { ledgerErrors } from '@daybook/ledger';
import { metadataErrors } from '@daybook/metadata';
import { protoErrors } from '@daybook/proto';
import { batcherErrors, byteBudgetErrors, casErrors, DaybookError, diskErrors } from '@daybook/runtime';
import { managedLedgerErrors } from '../managed-ledger/errors.js';
import { directoryErrors } from '../policies/errors.js';
import { topicErrors } from '../topic/errors.js';

/** `internal`: never the fault of the request, so that its text is not for the client: 500 without details, logged. */
type Status = 400 | 403 | 404 | 405 | 409 | 412 | 413 | 503 | 'internal';
type StatusTable<T> = { readonly [Key in keyof T]: Status };

/** One row for each error a request can meet; a new code does not compile before it has a row. */
const topicStatus: StatusTable<typeof topicErrors> = {
  NOT_FOUND: 404,
  EXISTS: 409,
  NAMESPACE_NOT_FOUND: 404,
  RECENTLY_DELETED: 409,
  IN_USE: 412,
  PRODUCER_BUSY: 409,
  CONSUMER_BUSY: 409,
  SUBSCRIPTION_EXISTS: 409,
  SUBSCRIPTION_NOT_FOUND: 404,
  SUBSCRIPTION_IN_USE: 412,
  UNSUPPORTED: 405,
  UNAVAILABLE: 503,
  OWNED_ELSEWHERE: 503,
  TOO_LARGE: 413,
};

const directoryStatus: StatusTable<typeof directoryErrors> = {
  CLUSTER_EXISTS: 409,
  CLUSTER_NOT_FOUND: 404,
  CLUSTER_IN_USE: 412,
  TENANT_EXISTS: 409,
  TENANT_NOT_FOUND: 404,
  TENANT_NOT_EMPTY: 409,
  NAMESPACE_EXISTS: 409,
  NAMESPACE_NOT_FOUND: 404,
  NAMESPACE_NOT_EMPTY: 409,
  CLUSTER_NOT_ALLOWED: 403,
  POLICY_UNSUPPORTED: 405,
  INVALID: 412,
};

const metadataStatus: StatusTable<typeof metadataErrors> = {
  EXISTS: 409,
  NOT_FOUND: 404,
  BAD_VERSION: 409,
  NOT_EMPTY: 409,
  BAD_PATH: 'internal',
  TOO_LARGE: 413,
  UNAVAILABLE: 503,
  CLOSED: 503,
  CORRUPT: 'internal',
};

const ledgerStatus: StatusTable<typeof ledgerErrors> = {
  NOT_FOUND: 'internal',
  EXISTS: 'internal',
  DUPLICATE_ENTRY: 'internal',
  OVERLOADED: 503,
  FORCE_FAILED: 503,
  CLOSED: 503,
  CLIENT_CLOSED: 503,
  LAC_UNKNOWN: 503,
  FENCED: 503,
  UNAUTHORIZED: 'internal',
  WRONG_DIGEST: 'internal',
  BAD_QUORUM: 'internal',
  BAD_RANGE: 'internal',
  NO_SUCH_ENTRY: 'internal',
  READ_FAILED: 503,
  NOT_ENOUGH_BOOKIES: 503,
  RECOVERY_FAILED: 503,
  APPEND_FAILED: 503,
  TOO_LARGE: 413,
};

const managedLedgerStatus: StatusTable<typeof managedLedgerErrors> = {
  FENCED: 503,
  CLOSED: 503,
  IN_USE: 412,
  APPEND_TIMED_OUT: 503,
  CURSOR_TIMED_OUT: 503,
  LOST_ENTRIES: 'internal',
  BAD_CURSOR_STATE: 'internal',
};

const protoStatus: StatusTable<typeof protoErrors> = {
  ENTRY_TOO_SHORT: 'internal',
  ENTRY_DIGEST_MISMATCH: 'internal',
  ENTRY_MISPLACED: 'internal',
  ENTRY_OUT_OF_RANGE: 'internal',
  BATCH_MALFORMED: 'internal',
  FRAME_MALFORMED: 'internal',
  LEDGER_METADATA_MALFORMED: 'internal',
  LEDGER_METADATA_UNWRITABLE: 'internal',
  SERVICE_INFO_MALFORMED: 'internal',
  COOKIE_MALFORMED: 'internal',
  MESSAGE_MALFORMED: 'internal',
  MESSAGE_CHECKSUM_MISMATCH: 'internal',
  MESSAGE_ID_MALFORMED: 400,
  MANAGED_LEDGER_MALFORMED: 'internal',
  TOPIC_NAME_INVALID: 412,
  JSON_MALFORMED: 400,
  JSON_TOO_DEEP: 400,
  JSON_TOO_LONG: 413,
};

const diskStatus: StatusTable<typeof diskErrors> = {
  NOT_FOUND: 'internal',
  EXISTS: 'internal',
  FULL: 503,
  IO: 'internal',
  LOCKED: 'internal',
};

const batcherStatus: StatusTable<typeof batcherErrors> = { FULL: 503, CLOSED: 503 };

const byteBudgetStatus: StatusTable<typeof byteBudgetErrors> = { TOO_LARGE: 413, STOPPED: 503 };

const casStatus: StatusTable<typeof casErrors> = { CONTENDED: 409 };

const statusOfCode = new Map<string, Status>();
function add<Key extends string>(errors: { readonly [K in Key]: { readonly code: string } }, statuses: { readonly [K in Key]: Status }): void {
  for (const key of Object.keys(errors) as Key[]) statusOfCode.set(errors[key].code, statuses[key]);
}
add(topicErrors, topicStatus);
add(directoryErrors, directoryStatus);
add(metadataErrors, metadataStatus);
add(ledgerErrors, ledgerStatus);
add(managedLedgerErrors, managedLedgerStatus);
add(protoErrors, protoStatus);
add(diskErrors, diskStatus);
add(batcherErrors, batcherStatus);
add(byteBudgetErrors, byteBudgetStatus);
add(casErrors, casStatus);

/** The HTTP status of an expected error, whose text then goes to the client; undefined for everything else: 500, logged, no text. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof DaybookError)) return undefined;
  const status = statusOfCode.get(error.code);
  return status === 'internal' ? undefined : status;
}

/** Every code that has a row, for the test that compares them with the codes defined. */
export function mappedCodes(): ReadonlySet<string> {
  return new Set(statusOfCode.keys());
}
