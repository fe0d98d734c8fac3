import { defineErrors } from '@daybook/runtime';

export const metadataErrors = defineErrors('METADATA', {
  EXISTS: { retry: 'never', text: (path: string) => `${path} exists already` },
  NOT_FOUND: { retry: 'never', text: (path: string) => `there is no ${path}` },
  BAD_VERSION: { retry: 'never', text: (path: string) => `${path} was changed by somebody else` },
  NOT_EMPTY: { retry: 'never', text: (path: string) => `${path} still has children` },
  BAD_PATH: { retry: 'never', text: (path: string) => `"${path}" is not a valid metadata path` },
  TOO_LARGE: {
    retry: 'never',
    text: (path: string, bytes: number) => `the value for ${path} has ${bytes} bytes, more than the metadata store takes`,
  },
  UNAVAILABLE: { retry: 'later', text: (detail: string) => `the metadata store cannot be reached: ${detail}` },
  CLOSED: { retry: 'never', text: () => 'the metadata store was closed' },
  CORRUPT: { retry: 'never', text: (path: string, detail: string) => `the record at ${path} cannot be read: ${detail}` },
});
