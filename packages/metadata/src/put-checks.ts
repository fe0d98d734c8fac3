import { invariant } from '@daybook/runtime';
import { metadataErrors } from './errors.js';
import { checkWritablePath } from './metadata-path.js';
import type { Expected, PutOptions } from './metadata-store.js';

/** Largest value: what a ZooKeeper with default settings takes in one packet (1 MiB), less room for path and header. */
export const valueBytesMax = 1_000_000;

/** What every store checks before it writes. */
export function checkPut(path: string, value: Uint8Array, expected: Expected, options: PutOptions): void {
  checkWritablePath(path);
  if (value.length > valueBytesMax) throw metadataErrors.TOO_LARGE(path, value.length);
  const isNew = options.ephemeral === true || options.sequential === true;
  invariant(!isNew || expected === 'absent', 'ephemeral and sequential values are new ones: expected must be "absent"');
}
