import { defineErrors } from '@daybook/runtime';

export const bookieShellErrors = defineErrors('BOOKIE_SHELL', {
  NO_FOLDER: {
    retry: 'never',
    text: (path: string) =>
      `${path} is no folder of a bookie: there is no VERSION file in it, in its journal or in its ledgers folder. Name what the bookie was given as --data`,
  },
  RUNS: {
    retry: 'later',
    text: (directory: string, instead: string) => `the bookie that has its data in ${directory} is running: ${instead}`,
  },
  CHANGED: { retry: 'later', text: (path: string) => `${path} is another file by now, as the bookie is running: ask again` },
  NO_FILE: { retry: 'never', text: (what: string, known: string) => `there is no ${what}; there are: ${known}` },
  NOT_CLEAN: { retry: 'never', text: (why: string) => `this is not clean for a first use: ${why}` },
});
