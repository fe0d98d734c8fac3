import { decoding, Malformed, protoErrors } from '../errors.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';
import { bookieCodeNumbers, bookieCodeOf } from './codes.js';
import { type BookieIdentity, readIdentity, writeIdentity } from './identity.js';
import type { BookieCode, BookieInfoReply } from './service.js';

/** Messages InfoRequest (only whom it is for) and InfoReply of bookie.proto. */

export function encodeInfoRequest(expected: BookieIdentity): Buffer {
  return new WireWriter().message(1, writeIdentity(expected)).finish();
}

/** Throws `PROTO_FRAME_MALFORMED`. */
export function decodeInfoRequest(bytes: Uint8Array): BookieIdentity {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('InfoRequest', detail),
    () => {
      const reader = new WireReader(bytes);
      let expected: BookieIdentity | undefined;
      while (reader.next()) {
        if (reader.field === 1) expected = readIdentity(reader.message());
        else reader.skip();
      }
      if (expected === undefined) throw new Malformed('a required field is missing');
      return expected;
    },
  );
}

export function encodeInfoReply(reply: BookieInfoReply): Buffer {
  return new WireWriter().int(1, bookieCodeNumbers[reply.code]).int(2, reply.totalBytes).int(3, reply.freeBytes).finish();
}

/** Throws `PROTO_FRAME_MALFORMED`. */
export function decodeInfoReply(bytes: Uint8Array): BookieInfoReply {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('InfoReply', detail),
    () => {
      const reader = new WireReader(bytes);
      let code: BookieCode | undefined;
      let totalBytes: number | undefined;
      let freeBytes: number | undefined;
      while (reader.next()) {
        if (reader.field === 1) code = bookieCodeOf(reader.uint());
        else if (reader.field === 2) totalBytes = reader.uint();
        else if (reader.field === 3) freeBytes = reader.uint();
        else reader.skip();
      }
      if (code === undefined || totalBytes === undefined || freeBytes === undefined) throw new Malformed('a required field is missing');
      return { code, totalBytes, freeBytes };
    },
  );
}
