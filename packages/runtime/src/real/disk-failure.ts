import { diskErrors } from '../disk-errors.js';
import type { DaybookError } from '../errors.js';

/** What node:fs reports, as an error of the `Disk` contract. */
export function diskFailure(path: string, cause: NodeJS.ErrnoException): DaybookError {
  switch (cause.code) {
    case 'ENOENT':
      return diskErrors.NOT_FOUND(path, { cause });
    case 'EEXIST':
      return diskErrors.EXISTS(path, { cause });
    case 'ENOSPC':
    case 'EDQUOT':
      return diskErrors.FULL(path, { cause });
    default:
      return diskErrors.IO(path, cause.message, { cause });
  }
}

export function isMissing(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ENOENT' || error.code === 'ENOTDIR';
}
