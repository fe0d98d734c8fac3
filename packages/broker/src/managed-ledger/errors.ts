import { defineErrors } from '@daybook/runtime';

export const managedLedgerErrors = defineErrors('MANAGED_LEDGER', {
  FENCED: { retry: 'later', text: (name: string) => `the log ${name} was taken over by another broker: look its owner up again` },
  CLOSED: { retry: 'later', text: (name: string) => `the log ${name} was closed here: look its owner up again` },
  IN_USE: { retry: 'never', text: (name: string) => `the log ${name} is open and cannot be deleted from outside: close it first` },
  APPEND_TIMED_OUT: {
    retry: 'later',
    text: (name: string, waitedMs: number, why: string) =>
      `the message could not be stored in ${name} within ${waitedMs} ms (it may exist all the same): ${why}`,
  },
  CURSOR_TIMED_OUT: {
    retry: 'later',
    text: (name: string, cursor: string) => `acknowledgements of ${cursor} on ${name} could not be stored in time: they may come again`,
  },
  LOST_ENTRIES: {
    retry: 'never',
    text: (name: string, ledger: number, end: number, confirmed: number) =>
      `ledger ${ledger} of ${name} ended at entry ${end} although entry ${confirmed} was acknowledged: disks of more bookies than the quorum allows lost data`,
  },
  BAD_CURSOR_STATE: { retry: 'never', text: (detail: string) => `a stored cursor state cannot be read: ${detail}` },
});
