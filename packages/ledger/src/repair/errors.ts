import { defineErrors } from '@daybook/runtime';

export const repairErrors = defineErrors('REPAIR', {
  UNKNOWN_LAYOUT: {
    retry: 'never',
    text: (layout: string) =>
      `the cluster keeps its list of under-replicated ledgers in a layout Daybook does not know (${layout}); it knows BASIC, version 1`,
  },
  DISABLED: { retry: 'later', text: () => 'repair is switched off in this cluster: enable autorecovery first' },
  LEDGER_LOCKED: {
    retry: 'later',
    text: (id: number, holder: string) => `ledger ${id} is being repaired by ${holder}: wait for it, or try again later`,
  },
  LOCK_LOST: { retry: 'later', text: (id: number) => `the lock on ledger ${id} was lost with the metadata session: the repair begins again` },
  ENTRY_UNREADABLE: {
    retry: 'later',
    text: (ledger: number, entry: number, answers: string) =>
      `entry ${entry} of ledger ${ledger} cannot be read from any replica (${answers}): bring one of these bookies back`,
  },
  NO_TARGET: {
    retry: 'later',
    text: (ledger: number, bookie: string, usable: string) =>
      `no bookie can take the place of ${bookie} in ledger ${ledger}: start another one (writable now: ${usable || 'none'})`,
  },
  TARGET_FAILED: {
    retry: 'later',
    text: (ledger: number, bookie: string, why: string) => `bookie ${bookie} did not take the copies of ledger ${ledger} (${why})`,
  },
  MEMBER_UNKNOWN: {
    retry: 'later',
    text: (ledger: number, bookie: string, why: string) => `bookie ${bookie} cannot tell now which entries of ledger ${ledger} it has (${why})`,
  },
  STILL_BAD: {
    retry: 'later',
    text: (ledger: number, what: string) => `ledger ${ledger} was copied and is still not whole: ${what}`,
  },
  LEDGER_OPEN: {
    retry: 'later',
    text: (ledger: number, bookies: string) => `ledger ${ledger} is still being written and names ${bookies}: it is closed before it is repaired`,
  },
  NEEDS_PASSWORD: {
    retry: 'never',
    text: (id: number) => `the record of ledger ${id} does not tell its digest and password, so its entries can be neither verified nor copied`,
  },
  STOPPED: { retry: 'later', text: () => 'the repair was stopped before it was done' },
  BOOKIE_WRITABLE: {
    retry: 'never',
    text: (bookie: string) => `bookie ${bookie} still takes entries: stop it or make it read-only before it is drained`,
  },
  BOOKIE_UP: { retry: 'never', text: (bookie: string) => `bookie ${bookie} is up: stop it before its cookie is deleted` },
  STILL_NAMED: {
    retry: 'later',
    text: (bookie: string, count: number, example: number) =>
      `bookie ${bookie} is still named by ${count} ledgers, ledger ${example} among them: its cookie stays`,
  },
  TOO_MANY_LOST: {
    retry: 'later',
    text: (lost: number, known: number, names: string) =>
      `${lost} of ${known} bookies are gone at once (${names}): that looks like a network, not like disks, so nothing is copied. ` +
      'Bring them back, or trigger an audit if they really are lost',
  },
});
