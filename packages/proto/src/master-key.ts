import { createHash } from 'node:crypto';

export const masterKeyBytes = 20;

let keyWithoutPassword: Buffer | undefined;

/** What a bookie compares before it takes entries for a ledger: SHA1("ledger" + password), for the empty password too. Not to be written to: it may be shared. */
export function masterKey(password: Uint8Array): Buffer {
  if (password.length > 0) return ledgerKey(password);
  keyWithoutPassword ??= ledgerKey(password);
  return keyWithoutPassword;
}

function ledgerKey(password: Uint8Array): Buffer {
  return createHash('sha1').update('ledger').update(password).digest();
}

/** The key of the HMAC digest: SHA1("mac" + password). */
export function macKey(password: Uint8Array): Buffer {
  return createHash('sha1').update('mac').update(password).digest();
}
