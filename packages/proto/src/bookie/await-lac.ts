import { decoding, Malformed, protoErrors } from '../errors.js';
import { type EntryId, type LedgerId, ledgerId } from '../ids.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';
import { type Addressed, type BookieIdentity, readIdentity, writeIdentity } from './identity.js';
import type { AwaitLacRequest } from './service.js';

/** Message AwaitLacRequest of bookie.proto; it is answered by a LacReply (lac.ts). */

/** A bookie lets nobody wait longer, whatever is asked for. */
export const awaitLacTimeoutMsMax = 60_000;

export function encodeAwaitLacRequest({ expected, request }: Addressed<AwaitLacRequest>): Buffer {
  const { ledgerId: ledger, after, timeoutMs, withEntry } = request;
  return new WireWriter()
    .message(1, writeIdentity(expected))
    .int(2, ledger)
    .int(3, after + 1)
    .int(4, timeoutMs)
    .bool(5, withEntry)
    .finish();
}

/** Throws `PROTO_FRAME_MALFORMED`. */
export function decodeAwaitLacRequest(bytes: Uint8Array): Addressed<AwaitLacRequest> {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('AwaitLacRequest', detail),
    () => {
      const reader = new WireReader(bytes);
      let expected: BookieIdentity | undefined;
      let ledger: LedgerId | undefined;
      let nextEntryId: number | undefined;
      let timeoutMs: number | undefined;
      let withEntry: boolean | undefined;
      while (reader.next()) {
        if (reader.field === 1) expected = readIdentity(reader.message());
        else if (reader.field === 2) ledger = ledgerId(reader.uint());
        else if (reader.field === 3) nextEntryId = reader.uint();
        else if (reader.field === 4) timeoutMs = reader.uint();
        else if (reader.field === 5) withEntry = reader.bool();
        else reader.skip();
      }
      if (expected === undefined || ledger === undefined || nextEntryId === undefined || timeoutMs === undefined || withEntry === undefined) {
        throw new Malformed('a required field is missing');
      }
      const request = { ledgerId: ledger, after: (nextEntryId - 1) as EntryId, timeoutMs: Math.min(timeoutMs, awaitLacTimeoutMsMax), withEntry };
      return { expected, request };
    },
  );
}
