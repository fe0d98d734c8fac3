import { decoding, Malformed, protoErrors } from '../errors.js';
import { type LedgerId, ledgerId } from '../ids.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';
import { bookieCodeNumbers, bookieCodeOf } from './codes.js';
import { type Addressed, type BookieIdentity, readIdentity, writeIdentity } from './identity.js';
import { readMasterKey } from './read.js';
import type { BookieCode, CodeReply, WriteLacRequest } from './service.js';

/** Messages WriteLacRequest and CodeReply of bookie.proto. */

/** The longest explicit last-add-confirmed: 16 bytes and the longest digest. */
export const explicitLacBytesMax = 36;

export function encodeWriteLacRequest({ expected, request }: Addressed<WriteLacRequest>): Buffer {
  const { ledgerId: ledger, masterKey, explicitLac } = request;
  return new WireWriter().message(1, writeIdentity(expected)).int(2, ledger).bytes(3, masterKey).bytes(4, explicitLac).finish();
}

/** Throws `PROTO_FRAME_MALFORMED`. */
export function decodeWriteLacRequest(bytes: Uint8Array): Addressed<WriteLacRequest> {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('WriteLacRequest', detail),
    () => {
      const reader = new WireReader(bytes);
      let expected: BookieIdentity | undefined;
      let ledger: LedgerId | undefined;
      let masterKey: Uint8Array | undefined;
      let explicitLac: Uint8Array | undefined;
      while (reader.next()) {
        if (reader.field === 1) expected = readIdentity(reader.message());
        else if (reader.field === 2) ledger = ledgerId(reader.uint());
        else if (reader.field === 3) masterKey = readMasterKey(reader);
        else if (reader.field === 4) explicitLac = reader.bytes();
        else reader.skip();
      }
      if (expected === undefined || ledger === undefined || masterKey === undefined || explicitLac === undefined) {
        throw new Malformed('a required field is missing');
      }
      if (explicitLac.length < 16 || explicitLac.length > explicitLacBytesMax) throw new Malformed(`an explicit LAC of ${explicitLac.length} bytes`);
      return { expected, request: { ledgerId: ledger, masterKey, explicitLac } };
    },
  );
}

export function encodeCodeReply(reply: CodeReply): Buffer {
  return new WireWriter(8).int(1, bookieCodeNumbers[reply.code]).finish();
}

/** Throws `PROTO_FRAME_MALFORMED`. */
export function decodeCodeReply(bytes: Uint8Array): CodeReply {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('CodeReply', detail),
    () => {
      const reader = new WireReader(bytes);
      let code: BookieCode | undefined;
      while (reader.next()) {
        if (reader.field === 1) code = bookieCodeOf(reader.uint());
        else reader.skip();
      }
      if (code === undefined) throw new Malformed('it has no code');
      return { code };
    },
  );
}
