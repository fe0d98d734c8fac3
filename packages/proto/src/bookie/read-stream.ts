import { invariant } from '@daybook/runtime';
import { decoding, Malformed, protoErrors } from '../errors.js';
import { bytesFieldBytes, bytesFieldsBytes, writeBytesFields } from '../wire/bytes-fields.js';
import { WireReader } from '../wire/reader.js';
import { varintBytes, WireWriter, writeVarint } from '../wire/writer.js';
import { bookieCodeNumbers, bookieCodeOf } from './codes.js';
import type { Addressed } from './identity.js';
import { decodeReadRequest, encodeReadRequest } from './read.js';
import type { BookieCode, ReadReply, ReadRequest } from './service.js';

/** The read stream: numbered requests one way, the parts of their replies the other. Messages StreamedReadRequest and StreamedReadReply of bookie.proto. */
export interface NumberedRead {
  /** Chosen by the client; no two requests of a stream have the same. */
  readonly number: number;
  readonly read: Addressed<ReadRequest>;
}

/** A part of a reply. Parts of one reply follow each other in order; those of others may come between them. */
export interface ReadPart extends ReadReply {
  readonly number: number;
  readonly isLast: boolean;
}

/**
 * A part is at most this large, with its gRPC frame, unless it is one larger entry alone. Whoever keeps an entry keeps its part, hence not more; with less, the price
 * of a message shows.
 */
export const readPartBytesMax = 64 * 1024;

const numberTag = 0x08;
const isLastTag = 0x10;
const codeTag = 0x18;
const entriesTag = 0x22;
/** More than a part has beside its entries, frame included. */
const partOverheadBytes = 32;

/** Cuts a reply into parts. */
export function partsOfReply(number: number, { code, entries }: ReadReply): ReadPart[] {
  const parts: ReadPart[] = [];
  let first = 0;
  let bytes = partOverheadBytes;
  for (let i = 0; i < entries.length; i++) {
    const entryBytes = bytesFieldBytes(entries[i] as Buffer);
    if (i > first && bytes + entryBytes > readPartBytesMax) {
      parts.push({ number, isLast: false, code, entries: entries.slice(first, i) });
      first = i;
      bytes = partOverheadBytes;
    }
    bytes += entryBytes;
  }
  parts.push({ number, isLast: true, code, entries: first === 0 ? entries : entries.slice(first) });
  return parts;
}

export function encodeNumberedRead({ number, read }: NumberedRead): Buffer {
  return new WireWriter(1024).int(1, number).bytes(2, encodeReadRequest(read)).finish();
}

/** Throws `PROTO_FRAME_MALFORMED`, also for what {@link decodeReadRequest} refuses. */
export function decodeNumberedRead(bytes: Uint8Array): NumberedRead {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('StreamedReadRequest', detail),
    () => {
      const reader = new WireReader(bytes);
      let number: number | undefined;
      let read: Addressed<ReadRequest> | undefined;
      while (reader.next()) {
        if (reader.field === 1) number = reader.uint();
        else if (reader.field === 2) read = decodeReadRequest(reader.bytes());
        else reader.skip();
      }
      if (number === undefined || read === undefined) throw new Malformed('a required field is missing');
      return { number, read };
    },
  );
}

/** `room` may be given to write into: then the result is a view of it, if it is large enough. */
export function encodeReadPart(part: ReadPart, room?: Buffer): Buffer {
  const { number, isLast, entries } = part;
  const code = bookieCodeNumbers[part.code];
  const bytes = 1 + varintBytes(number) + 2 + 1 + varintBytes(code) + bytesFieldsBytes(entries);
  const out = room !== undefined && room.length >= bytes ? room : Buffer.allocUnsafe(bytes);
  out[0] = numberTag;
  let end = writeVarint(out, 1, number);
  out[end++] = isLastTag;
  out[end++] = isLast ? 1 : 0;
  out[end++] = codeTag;
  end = writeVarint(out, end, code);
  end = writeBytesFields(out, end, entriesTag, entries);
  invariant(end === bytes, 'a part has the size that was computed');
  return end === out.length ? out : out.subarray(0, end);
}

/** The entries are views into `bytes`. Throws `PROTO_FRAME_MALFORMED`. */
export function decodeReadPart(bytes: Buffer): ReadPart {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('StreamedReadReply', detail),
    () => {
      const reader = new WireReader(bytes);
      let number: number | undefined;
      let isLast: boolean | undefined;
      let code: BookieCode | undefined;
      const entries: Buffer[] = [];
      while (reader.next()) {
        if (reader.field === 4) entries.push(reader.bytes() as Buffer);
        else if (reader.field === 1) number = reader.uint();
        else if (reader.field === 2) isLast = reader.bool();
        else if (reader.field === 3) code = bookieCodeOf(reader.uint());
        else reader.skip();
      }
      if (number === undefined || isLast === undefined || code === undefined) throw new Malformed('a required field is missing');
      if ((code === 'OK') !== entries.length > 0) throw new Malformed(`code ${code} with ${entries.length} entries`);
      return { number, isLast, code, entries };
    },
  );
}
