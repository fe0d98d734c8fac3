import { defineErrors } from './errors.js';

export const bytesErrors = defineErrors('BYTES', {
  TRUNCATED: {
    retry: 'never',
    text: (need: number, position: number, length: number) => `${need} bytes are needed at position ${position}, but the data ends at ${length}`,
  },
  OUT_OF_RANGE: { retry: 'never', text: (what: string, value: number | bigint) => `${value} does not fit ${what}` },
});
