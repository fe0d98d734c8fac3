import { decoding, Malformed, protoErrors } from '../errors.js';
import { type EntryId, entryId, type LedgerId, ledgerId } from '../ids.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';
import { type Addressed, type BookieIdentity, readIdentity, writeIdentity } from './identity.js';
import type { ForceRequest } from './service.js';

/** Message ForceRequest of bookie.proto; it is answered by a CodeReply (write-lac.ts). */

export function encodeForceRequest({ expected, request }: Addressed<ForceRequest>): Buffer {
  return new WireWriter().message(1, writeIdentity(expected)).int(2, request.ledgerId).int(3, request.lastEntryId).finish();
}

/** Throws `PROTO_FRAME_MALFORMED`. */
export function decodeForceRequest(bytes: Uint8Array): Addressed<ForceRequest> {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('ForceRequest', detail),
    () => {
      const reader = new WireReader(bytes);
      let expected: BookieIdentity | undefined;
      let ledger: LedgerId | undefined;
      let lastEntryId: EntryId | undefined;
      while (reader.next()) {
        if (reader.field === 1) expected = readIdentity(reader.message());
        else if (reader.field === 2) ledger = ledgerId(reader.uint());
        else if (reader.field === 3) lastEntryId = entryId(reader.uint());
        else reader.skip();
      }
      if (expected === undefined || ledger === undefined || lastEntryId === undefined) throw new Malformed('a required field is missing');
      return { expected, request: { ledgerId: ledger, lastEntryId } };
    },
  );
}
