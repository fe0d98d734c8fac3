import { defineErrors } from '@daybook/runtime';

export const bookieErrors = defineErrors('BOOKIE', {
  JOURNAL_CORRUPT: {
    retry: 'never',
    text: (path: string, offset: number, detail: string) =>
      `journal file ${path} is damaged at offset ${offset} (${detail}): acknowledged entries may be unreadable, so this bookie does not start. ` +
      'Restore the file; or see with `daybook shell journal inspect` what is lost and give it up with `daybook shell journal repair`; ' +
      'or wipe this bookie and let its ledgers be copied again from their other replicas',
  },
  JOURNAL_MISSING: {
    retry: 'never',
    text: (directory: string, name: string, why: string) =>
      `journal file ${name} is missing in ${directory} (${why}): acknowledged entries would be lost, so this bookie does not start. ` +
      'Check that the right disk is mounted; if the file is gone, give up what was in it with `daybook shell journal repair`, ' +
      'or wipe this bookie and let its ledgers be copied again from their other replicas',
  },
  FORMAT_VERSION: {
    retry: 'never',
    text: (path: string, version: number, known: number) =>
      `${path} has format version ${version}, this program knows ${known}: use the version of Daybook that wrote it, or a newer one`,
  },
  CHECKPOINT_CORRUPT: {
    retry: 'never',
    text: (path: string, detail: string) =>
      `${path} cannot be used (${detail}): this bookie does not start, as it cannot tell what its disks hold. ` +
      'Restore the file from another ledger directory, or wipe this bookie and let its ledgers be copied again',
  },
  STATE_CORRUPT: {
    retry: 'never',
    text: (path: string, detail: string) =>
      `${path} cannot be used (${detail}): fences would be forgotten, so this bookie does not start. ` +
      'Restore the file, or wipe this bookie and let its ledgers be copied again',
  },
  LOG_DAMAGED: {
    retry: 'never',
    text: (path: string, detail: string) => `${path} is damaged (${detail})`,
  },
  LISTING_REFUSED: {
    retry: 'later',
    text: (why: string) => `no ledger is deleted, as the list of ledgers in the metadata store cannot be trusted (${why})`,
  },
  COOKIE_REFUSED: { retry: 'never', text: (why: string, wayOut: string) => `this bookie does not start: ${why}. ${wayOut}` },
  CLOSED: { retry: 'later', text: () => 'the bookie is being closed' },
  FAILED: { retry: 'never', text: (why: string) => `the bookie stopped itself: ${why}` },
});
