import { defineErrors } from '@daybook/runtime';

export const shellErrors = defineErrors('SHELL', {
  PROBLEMS: { retry: 'never', text: (count: number, what: string) => `${count} ${count === 1 ? 'problem' : 'problems'} found: ${what}` },
  NOT_CONFIRMED: {
    retry: 'never',
    text: (what: string, flag: string) => `nothing was done. This would ${what}. If you want that, say it again with ${flag}`,
  },
  NO_SUCH_BOOKIE: {
    retry: 'later',
    text: (bookie: string, known: string) => `bookie ${bookie} is not registered in this cluster; up are: ${known || 'none'}`,
  },
  BOOKIE_ANSWER: { retry: 'later', text: (bookie: string, code: string) => `bookie ${bookie} answers ${code}` },
  HTTP: { retry: 'never', text: (url: string, status: number, text: string) => `${url} answers ${status}: ${text}` },
  HTTP_UNREACHABLE: {
    retry: 'later',
    text: (url: string, detail: string) =>
      `${url} cannot be reached (${detail}): name the httpPort of a running bookie, as it prints it at its start`,
  },
});
