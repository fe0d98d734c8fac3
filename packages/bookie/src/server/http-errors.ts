import { defineErrors } from '@daybook/runtime';

export const bookieHttpErrors = defineErrors('BOOKIE_HTTP', {
  LISTEN: {
    retry: 'never',
    text: (address: string, detail: string) => `the bookie's HTTP service cannot listen on ${address}: ${detail}. Choose another httpPort`,
  },
  BAD_REQUEST: { retry: 'never', text: (detail: string) => detail },
  NOT_FOUND: { retry: 'never', text: (what: string) => `there is no ${what}` },
  REFUSED: { retry: 'never', text: (why: string) => why },
  NOT_READY: { retry: 'later', text: (state: string) => `the bookie is not ready: it is ${state}, or has not told the cluster about itself yet` },
  TOO_LARGE: { retry: 'never', text: (bytesMax: number) => `the body of a request has at most ${bytesMax} bytes` },
});
