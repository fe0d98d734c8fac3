import { defineErrors } from '@daybook/runtime';

export const logErrors = defineErrors('LOG', {
  NOT_FOUND: { retry: 'never', text: (name: string) => `there is no log "${name}": create it first` },
  EXISTS: { retry: 'never', text: (name: string) => `log "${name}" exists already: open it, or choose another name` },
  LOCKED: {
    retry: 'later',
    text: (name: string, owner: string, waitedMs: number) =>
      `log "${name}" is being written by ${owner} (waited ${waitedMs} ms): end that writer, or wait longer`,
  },
  LOCK_LOST: {
    retry: 'never',
    text: (name: string) => `the writer of log "${name}" has lost its metadata session and with it the lock: open the log for writing again`,
  },
  FENCED: {
    retry: 'never',
    text: (name: string, owner: string) => `log "${name}" was taken over by ${owner}: this writer must stop`,
  },
  TRANSACTION_ID_OUT_OF_ORDER: {
    retry: 'never',
    text: (name: string, txId: number, last: number) =>
      `transaction id ${txId} is below ${last}, the last one in log "${name}": ids never go back (the same one again is fine)`,
  },
  BAD_TRANSACTION_ID: { retry: 'never', text: (txId: unknown) => `a transaction id is an integer from 0 to 2^53-1, not ${String(txId)}` },
  RECORD_TOO_LARGE: { retry: 'never', text: (bytes: number, max: number) => `a record has at most ${max} bytes, this one ${bytes}: split it` },
  END_OF_STREAM: { retry: 'never', text: (name: string) => `log "${name}" was marked as ended: nothing comes after its last record` },
  WRITE_FAILED: {
    retry: 'later',
    text: (name: string, why: string) =>
      `the record was not acknowledged, it may be in log "${name}" or not: open the log for writing again and look at its last transaction id. Cause: ${why}`,
  },
  OVER_CAPACITY: {
    retry: 'later',
    text: (name: string, bytes: number) => `log "${name}" has ${bytes} bytes not acknowledged yet: wait for earlier writes before writing more`,
  },
  BAD_OPTIONS: { retry: 'never', text: (why: string) => `these options of a log cannot be: ${why}` },
  WRITER_CLOSED: { retry: 'never', text: (name: string) => `this writer of log "${name}" was closed: open the log for writing again` },
  READER_CLOSED: { retry: 'never', text: (name: string) => `this reader of log "${name}" was closed` },
  BAD_POSITION: { retry: 'never', text: (text: string) => `"${text}" is no position in a log` },
  TRUNCATED: {
    retry: 'never',
    text: (name: string, position: string, first: string) =>
      `position ${position} of log "${name}" was truncated: the first record still there is at ${first}`,
  },
  EMPTY: { retry: 'later', text: (name: string) => `log "${name}" has no record yet` },
  SEGMENT_LOST: {
    retry: 'never',
    text: (name: string, sequence: number, ledger: number, why: string) =>
      `segment ${sequence} of log "${name}" (ledger ${ledger}) cannot be used: ${why}. Records may be missing; restore the ledger, or truncate the log behind it`,
  },
  MALFORMED: { retry: 'never', text: (what: string, why: string) => `${what} cannot be read: ${why}` },
  UNSUPPORTED_VERSION: {
    retry: 'never',
    text: (what: string, version: number | bigint | string) => `${what} has version ${version}, which this Daybook does not know: use a newer one`,
  },
  CONTENDED: { retry: 'later', text: (name: string) => `log "${name}" is being changed by others all the time: try again` },
});

/** Texts begin as those of the name node's BookKeeperJournalManager. */
export const journalErrors = defineErrors('JOURNAL', {
  NOT_FORMATTED: { retry: 'never', text: (name: string) => `Environment not initialized. Have you forgotten to format? (journal "${name}")` },
  INCOMPLETE_VERSION: {
    retry: 'never',
    text: (name: string, why: string) => `Invalid/Incomplete data in znode (version of journal "${name}"): ${why}`,
  },
  ENVIRONMENT_MISMATCH: {
    retry: 'never',
    text: (running: string, stored: string) => `Environment mismatch. Running process ${running}, stored ${stored}`,
  },
  ALREADY_SEEN: {
    retry: 'never',
    text: (txId: number, max: number) =>
      `We've already seen ${txId}. A new stream cannot be created with it (the last transaction is ${max}: recover, then go on after it)`,
  },
  ALREADY_IN_PROGRESS: {
    retry: 'never',
    text: (path: string) => `Inprogress node already exists (${path}): finalize that segment, or recover unfinalized segments`,
  },
  NO_IN_PROGRESS: { retry: 'never', text: (path: string) => `Inprogress znode ${path} doesn't exist` },
  OTHER_LEDGER: {
    retry: 'never',
    text: (found: number, expected: number) => `Active ledger has different ID to inprogress. ${found} found, ${expected} expected`,
  },
  OTHER_TRANSACTION_ID: {
    retry: 'never',
    text: (found: number, expected: number) => `Transaction id not as expected, ${found} found, ${expected} expected`,
  },
  LAST_TRANSACTION_ID: {
    retry: 'never',
    text: (given: number, found: number) => `Transaction id not as expected, the segment ends with ${found}, not with ${given}`,
  },
  DATA_MISMATCH: { retry: 'never', text: (path: string) => `Node ${path} already exists but data doesn't match` },
  CORRUPT: { retry: 'never', text: (segment: string, why: string) => `Unrecoverable corruption in segment ${segment}: ${why}` },
  GAP: {
    retry: 'never',
    text: (found: number, expected: number) => `StartTxId ${found} is not as expected ${expected}. Gap in transaction log?`,
  },
  TAKEN_OVER: { retry: 'never', text: (name: string) => `journal "${name}" was taken over by another writer: this one must stop` },
  OUT_OF_ORDER: {
    retry: 'never',
    text: (txId: number, expected: number) => `transaction ${txId} was written where ${expected} must come: ids are consecutive`,
  },
  BAD_TRANSACTION_ID: { retry: 'never', text: (txId: unknown) => `a transaction id is an integer from 1 to 2^53-1, not ${String(txId)}` },
  OPERATION_TOO_LARGE: { retry: 'never', text: (bytes: number, max: number) => `an operation has at most ${max} bytes, this one ${bytes}` },
  OVER_CAPACITY: {
    retry: 'later',
    text: (bytes: number, max: number) => `${bytes} bytes of operations are not acknowledged, ${max} is the limit: flush before writing more`,
  },
  ERRORED_STREAM: {
    retry: 'later',
    text: (why: string) => `Trying to write to an errored stream; recover unfinalized segments, then start a new one. Error: ${why}`,
  },
  STREAM_CLOSED: { retry: 'never', text: (firstTxId: number) => `the stream of segment ${firstTxId} was closed` },
  MALFORMED: { retry: 'never', text: (what: string, why: string) => `Invalid ledger entry, ${what}: ${why}` },
});
