import { defineErrors } from './errors.js';

export const diskErrors = defineErrors('DISK', {
  NOT_FOUND: { retry: 'never', text: (path: string) => `there is no file ${path}` },
  EXISTS: { retry: 'never', text: (path: string) => `${path} exists already` },
  FULL: { retry: 'later', text: (path: string) => `no space left for ${path}: free some on that disk` },
  IO: { retry: 'never', text: (path: string, detail: string) => `${path}: ${detail}` },
  LOCKED: { retry: 'later', text: (path: string) => `${path} is in use by another process: end it first, or choose another folder` },
});
