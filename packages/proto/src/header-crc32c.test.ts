import { crc32c } from '@daybook/runtime';
import fc from 'fast-check';
import t from 'tap';
import { headerCrc32c } from './header-crc32c.js';

t.test('header CRC-32C: any bytes -> that of the general function', async () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 40, maxLength: 40 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 0, max: 9 }),
      (bytes, from, words) => {
        return headerCrc32c(bytes, from, from + words * 4) === crc32c(bytes.subarray(from, from + words * 4));
      },
    ),
  );
});
