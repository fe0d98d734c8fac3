import { defineErrors } from '@daybook/runtime';

export const ledgerErrors = defineErrors('LEDGER', {
  NOT_FOUND: { retry: 'never', text: (id: number) => `there is no ledger ${id}: it was deleted, or never created` },
  EXISTS: { retry: 'never', text: (id: number) => `there is a ledger ${id} already: choose another id, or leave the choice to the client` },
  DUPLICATE_ENTRY: {
    retry: 'never',
    text: (ledger: number, entry: number) => `ledger ${ledger} was given entry ${entry} before: each entry id is written once`,
  },
  OVERLOADED: {
    retry: 'later',
    text: (id: number, bytesMax: number) =>
      `appends to ledger ${id} come faster than its bookies take them, ${bytesMax} bytes wait already: wait for answers first`,
  },
  FORCE_FAILED: {
    retry: 'later',
    text: (id: number, why: string) =>
      `not every bookie of ledger ${id} says that its entries are durable; the last-add-confirmed stays, try again: ${why}`,
  },
  CLOSED: { retry: 'never', text: (id: number) => `ledger ${id} is closed: nothing can be added, create another one` },
  CLIENT_CLOSED: { retry: 'never', text: () => 'the ledger client was closed: this process is ending' },
  FENCED: { retry: 'never', text: (id: number) => `ledger ${id} was taken over by another writer: this one must stop` },
  UNAUTHORIZED: { retry: 'never', text: (id: number) => `the password for ledger ${id} is wrong: use the one it was created with` },
  WRONG_DIGEST: {
    retry: 'never',
    text: (id: number, is: string, asked: string) => `ledger ${id} uses digest ${is}, not ${asked}: leave the digest type out`,
  },
  BAD_QUORUM: { retry: 'never', text: (detail: string) => `ensemble size >= write quorum >= ack quorum >= 1 must hold: ${detail}` },
  BAD_RANGE: { retry: 'never', text: (detail: string) => `that range of entries cannot be read: ${detail}` },
  NO_SUCH_ENTRY: {
    retry: 'never',
    text: (ledger: number, entry: number) => `ledger ${ledger} has no entry ${entry}, every replica says so: read up to the last-add-confirmed`,
  },
  READ_FAILED: {
    retry: 'later',
    text: (ledger: number, entry: number, why: string) => `entry ${entry} of ledger ${ledger} could not be read now, try again: ${why}`,
  },
  LAC_UNKNOWN: {
    retry: 'later',
    text: (ledger: number, why: string) => `the end of ledger ${ledger} cannot be told now, too few of its bookies answer; try again: ${why}`,
  },
  NOT_ENOUGH_BOOKIES: {
    retry: 'later',
    text: (need: number, up: string, missing: string) =>
      `${need} writable bookies are needed; up: ${up || 'none'}${missing ? `; not usable: ${missing}` : ''}. Bring them back, or start others`,
  },
  RECOVERY_FAILED: { retry: 'later', text: (id: number, why: string) => `ledger ${id} could not be recovered now, try again: ${why}` },
  APPEND_FAILED: { retry: 'later', text: (id: number, why: string) => `ledger ${id} takes no more entries, go on in a new one: ${why}` },
  TOO_LARGE: { retry: 'never', text: (bytes: number, max: number) => `an entry has at most ${max} bytes, this one ${bytes}: split it` },
});
