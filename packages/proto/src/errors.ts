import { type DaybookError, defineErrors } from '@daybook/runtime';

/** One code per format and kind of damage. None is worth a retry with the same bytes: for a stored entry ask another replica, for input tell the sender. */
export const protoErrors = defineErrors('PROTO', {
  ENTRY_TOO_SHORT: {
    retry: 'never',
    text: (bytes: number, least: number) => `an entry of ${bytes} bytes is too short, at least ${least} are needed: read it from another bookie`,
  },
  ENTRY_DIGEST_MISMATCH: {
    retry: 'never',
    text: (place: string) => `${place} fails its digest (damaged, or another password or digest type): read it from another bookie`,
  },
  ENTRY_MISPLACED: {
    retry: 'never',
    text: (expected: string, found: string) => `expected ${expected}, found ${found}: read it from another bookie`,
  },
  ENTRY_OUT_OF_RANGE: { retry: 'never', text: (field: string) => `${field} of the entry is not between -1 and 2^53-1` },
  BATCH_MALFORMED: { retry: 'never', text: (detail: string) => `not an append batch: ${detail}` },
  FRAME_MALFORMED: { retry: 'never', text: (message: string, detail: string) => `not a ${message} of the bookie protocol: ${detail}` },
  LEDGER_METADATA_MALFORMED: { retry: 'never', text: (detail: string) => `the ledger's metadata record cannot be read: ${detail}` },
  LEDGER_METADATA_UNWRITABLE: {
    retry: 'never',
    text: (version: number, detail: string) => `a metadata record of format ${version} cannot say that ${detail}: create the ledger with format 3`,
  },
  SERVICE_INFO_MALFORMED: { retry: 'never', text: (detail: string) => `a bookie's registration record cannot be read: ${detail}` },
  COOKIE_MALFORMED: { retry: 'never', text: (detail: string) => `the cookie cannot be read: ${detail}` },
  MESSAGE_MALFORMED: { retry: 'never', text: (detail: string) => `not a message: ${detail}` },
  MESSAGE_CHECKSUM_MISMATCH: { retry: 'never', text: () => 'the message fails its checksum: send it again' },
  MESSAGE_ID_MALFORMED: { retry: 'never', text: (detail: string) => `not a message id: ${detail}` },
  MANAGED_LEDGER_MALFORMED: { retry: 'never', text: (record: string, detail: string) => `the ${record} record cannot be read: ${detail}` },
  TOPIC_NAME_INVALID: { retry: 'never', text: (name: string, detail: string) => `"${name}" is not a topic name: ${detail}` },
  JSON_MALFORMED: { retry: 'never', text: (detail: string) => `not valid JSON: ${detail}` },
  JSON_TOO_DEEP: { retry: 'never', text: (depthMax: number) => `the JSON text is nested more than ${depthMax} deep` },
  JSON_TOO_LONG: {
    retry: 'never',
    text: (length: number, lengthMax: number) => `the JSON text has ${length} characters, at most ${lengthMax} are taken`,
  },
});

/** What the readers in `wire/` and a format's own checks throw while decoding; {@link decoding} turns it into the format's coded error. */
export class Malformed extends Error {
  override readonly name = 'Malformed';
}

/** Runs a decoder and gives its complaint about the bytes the format's own code. Bugs (any other error) pass through unchanged. */
export function decoding<T>(coded: (detail: string) => DaybookError, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    throw error instanceof Malformed ? coded(error.message) : error;
  }
}
