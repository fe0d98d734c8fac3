import { decoding, Malformed, protoErrors } from '../errors.js';
import { type EntryId, entryId, type LedgerId, ledgerId } from '../ids.js';
import { masterKeyBytes } from '../master-key.js';
import { bytesFieldsBytes, writeBytesFields } from '../wire/bytes-fields.js';
import { WireReader } from '../wire/reader.js';
import { varintBytes, WireWriter, writeVarint } from '../wire/writer.js';
import { bookieCodeNumbers, bookieCodeOf } from './codes.js';
import { type Addressed, type BookieIdentity, readIdentity, writeIdentity } from './identity.js';
import type { BookieCode, ReadReply, ReadRequest } from './service.js';

/** Messages ReadRequest and ReadReply of bookie.proto. */

/** Ids one request may name. */
export const readEntriesCountMax = 16_384;

const entriesTag = 0x12;
const codeTag = 0x08;

export function encodeReadRequest({ expected, request }: Addressed<ReadRequest>): Buffer {
  const writer = new WireWriter().message(1, writeIdentity(expected)).int(2, request.ledgerId);
  writer.packed(
    3,
    request.entryIds.map((id, index) => (index === 0 ? id : id - (request.entryIds[index - 1] as number))),
  );
  writer.int(4, request.bytesMax);
  if (request.fenceWithKey !== undefined) writer.bytes(5, request.fenceWithKey);
  return writer.finish();
}

/** Throws `PROTO_FRAME_MALFORMED`: no ids, ids that do not ascend, more than {@link readEntriesCountMax}. */
export function decodeReadRequest(bytes: Uint8Array): Addressed<ReadRequest> {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('ReadRequest', detail),
    () => {
      const reader = new WireReader(bytes);
      let expected: BookieIdentity | undefined;
      let ledger: LedgerId | undefined;
      let bytesMax: number | undefined;
      let key: Uint8Array | undefined;
      const entryIds: EntryId[] = [];
      while (reader.next()) {
        if (reader.field === 1) expected = readIdentity(reader.message());
        else if (reader.field === 2) ledger = ledgerId(reader.uint());
        else if (reader.field === 3) reader.repeated((one) => pushId(entryIds, one.uint()));
        else if (reader.field === 4) bytesMax = reader.uint();
        else if (reader.field === 5) key = readMasterKey(reader);
        else reader.skip();
      }
      if (expected === undefined || ledger === undefined || bytesMax === undefined) throw new Malformed('a required field is missing');
      if (entryIds.length === 0) throw new Malformed('it names no entry');
      const request = { ledgerId: ledger, entryIds, bytesMax };
      return { expected, request: key === undefined ? request : { ...request, fenceWithKey: key } };
    },
  );
}

function pushId(ids: EntryId[], distance: number): void {
  const previous = ids.at(-1);
  if (ids.length === readEntriesCountMax) throw new Malformed(`it names more than ${readEntriesCountMax} entries`);
  if (previous !== undefined && distance === 0) throw new Malformed('entry ids do not ascend');
  const id = (previous ?? 0) + distance;
  if (!Number.isSafeInteger(id)) throw new Malformed('an entry id is beyond 2^53');
  ids.push(entryId(id));
}

/** A master key is always 20 bytes. */
export function readMasterKey(reader: WireReader): Uint8Array {
  const key = reader.bytes();
  if (key.length !== masterKeyBytes) throw new Malformed(`a master key of ${key.length} bytes`);
  return key;
}

/** One buffer of just the size, entries copied into it once. */
export function encodeReadReply(reply: ReadReply): Buffer {
  const code = bookieCodeNumbers[reply.code];
  const out = Buffer.allocUnsafe(1 + varintBytes(code) + bytesFieldsBytes(reply.entries));
  out[0] = codeTag;
  writeBytesFields(out, writeVarint(out, 1, code), entriesTag, reply.entries);
  return out;
}

/** The entries are views into `bytes`: keeping one keeps the whole reply. Throws `PROTO_FRAME_MALFORMED`. */
export function decodeReadReply(bytes: Buffer): ReadReply {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('ReadReply', detail),
    () => {
      const reader = new WireReader(bytes);
      let code: BookieCode | undefined;
      const entries: Buffer[] = [];
      while (reader.next()) {
        if (reader.field === 1) code = bookieCodeOf(reader.uint());
        else if (reader.field === 2) entries.push(reader.bytes() as Buffer);
        else reader.skip();
      }
      if (code === undefined) throw new Malformed('it has no code');
      if ((code === 'OK') !== entries.length > 0) throw new Malformed(`code ${code} with ${entries.length} entries`);
      return { code, entries };
    },
  );
}
