import { invariant } from '@daybook/runtime';
import { decoding, Malformed, protoErrors } from '../errors.js';
import { bytesFieldsBytes, writeBytesFields } from '../wire/bytes-fields.js';
import { WireReader } from '../wire/reader.js';
import { varintBytes, WireWriter, writeVarint } from '../wire/writer.js';
import { bookieCodeNumbers, bookieCodeOf } from './codes.js';
import { type BookieIdentity, readIdentity, writeIdentity } from './identity.js';
import type { BookieCode } from './service.js';

/**
 * The append stream (messages AppendRequest and AppendReply of bookie.proto). The client says hello and sends batches, numbered from 0 on each stream without a
 * gap; the bookie says hello and answers every batch once, as ranges of numbers with one code.
 */
export type AppendRequest =
  | { readonly kind: 'hello'; readonly version: number; readonly expected: BookieIdentity }
  /** Batch `i` has the number `firstSequence + i`. */
  | { readonly kind: 'batches'; readonly firstSequence: number; readonly batches: readonly Buffer[] };

export type AppendReply =
  | { readonly kind: 'hello'; readonly version: number; readonly identity: BookieIdentity; readonly code: BookieCode }
  | { readonly kind: 'acknowledgements'; readonly ranges: readonly AppendAcknowledgement[] };

/** Batches `first` to `last`, both included, all ended with `code`. */
export interface AppendAcknowledgement {
  readonly first: number;
  readonly last: number;
  readonly code: BookieCode;
}

export const appendStreamVersion = 1;

/** A client puts pending batches into one message up to about this many bytes; a larger batch goes alone. */
export const appendRequestBytesDefault = 256 * 1024;

const batchesTag = 0x1a;
const firstSequenceTag = 0x10;

export function encodeAppendRequest(message: AppendRequest): Buffer {
  if (message.kind === 'hello') {
    return new WireWriter().message(1, new WireWriter().int(1, message.version).message(2, writeIdentity(message.expected))).finish();
  }
  const { firstSequence, batches } = message;
  invariant(batches.length > 0, 'a message carries at least one batch');
  const out = Buffer.allocUnsafe(1 + varintBytes(firstSequence) + bytesFieldsBytes(batches));
  out[0] = firstSequenceTag;
  writeBytesFields(out, writeVarint(out, 1, firstSequence), batchesTag, batches);
  return out;
}

/** The batches are views into `bytes`, not yet checked: see decodeAppendBatch. Throws `PROTO_FRAME_MALFORMED`. */
export function decodeAppendRequest(bytes: Buffer): AppendRequest {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('AppendRequest', detail),
    () => {
      const reader = new WireReader(bytes);
      let hello: AppendRequest | undefined;
      let firstSequence: number | undefined;
      const batches: Buffer[] = [];
      while (reader.next()) {
        if (reader.field === 1) hello = readHello(reader.message());
        else if (reader.field === 2) firstSequence = reader.uint();
        else if (reader.field === 3) batches.push(reader.bytes() as Buffer);
        else reader.skip();
      }
      if (hello !== undefined) return hello;
      if (firstSequence === undefined || batches.length === 0) throw new Malformed('it has neither a hello nor numbered batches');
      return { kind: 'batches', firstSequence, batches };
    },
  );
}

function readHello(reader: WireReader): AppendRequest {
  let version: number | undefined;
  let expected: BookieIdentity | undefined;
  while (reader.next()) {
    if (reader.field === 1) version = reader.uint();
    else if (reader.field === 2) expected = readIdentity(reader.message());
    else reader.skip();
  }
  if (version === undefined || expected === undefined) throw new Malformed('the hello is not complete');
  return { kind: 'hello', version, expected };
}

export function encodeAppendReply(message: AppendReply): Buffer {
  const writer = new WireWriter();
  if (message.kind === 'hello') {
    const hello = new WireWriter().int(1, message.version).message(2, writeIdentity(message.identity)).int(3, bookieCodeNumbers[message.code]);
    return writer.message(1, hello).finish();
  }
  invariant(message.ranges.length > 0, 'a message carries at least one acknowledgement');
  for (const { first, last, code } of message.ranges) {
    writer.message(2, new WireWriter(32).int(1, first).int(2, last).int(3, bookieCodeNumbers[code]));
  }
  return writer.finish();
}

/** Throws `PROTO_FRAME_MALFORMED`. */
export function decodeAppendReply(bytes: Uint8Array): AppendReply {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('AppendReply', detail),
    () => {
      const reader = new WireReader(bytes);
      const ranges: AppendAcknowledgement[] = [];
      let hello: AppendReply | undefined;
      while (reader.next()) {
        if (reader.field === 1) hello = readHelloReply(reader.message());
        else if (reader.field === 2) ranges.push(readAcknowledgement(reader.message()));
        else reader.skip();
      }
      if (hello !== undefined) return hello;
      if (ranges.length === 0) throw new Malformed('it has neither a hello nor acknowledgements');
      return { kind: 'acknowledgements', ranges };
    },
  );
}

function readHelloReply(reader: WireReader): AppendReply {
  let version: number | undefined;
  let identity: BookieIdentity | undefined;
  let code: BookieCode | undefined;
  while (reader.next()) {
    if (reader.field === 1) version = reader.uint();
    else if (reader.field === 2) identity = readIdentity(reader.message());
    else if (reader.field === 3) code = bookieCodeOf(reader.uint());
    else reader.skip();
  }
  if (version === undefined || identity === undefined || code === undefined) throw new Malformed('the hello is not complete');
  return { kind: 'hello', version, identity, code };
}

function readAcknowledgement(reader: WireReader): AppendAcknowledgement {
  let first: number | undefined;
  let last: number | undefined;
  let code: BookieCode | undefined;
  while (reader.next()) {
    if (reader.field === 1) first = reader.uint();
    else if (reader.field === 2) last = reader.uint();
    else if (reader.field === 3) code = bookieCodeOf(reader.uint());
    else reader.skip();
  }
  if (first === undefined || last === undefined || code === undefined || last < first) throw new Malformed('an acknowledgement is not complete');
  return { first, last, code };
}
