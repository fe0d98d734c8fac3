import type { LedgerId } from '../ids.js';
import { type AppendReply, type AppendRequest, decodeAppendReply, decodeAppendRequest, encodeAppendReply, encodeAppendRequest } from './append.js';
import { decodeAwaitLacRequest, encodeAwaitLacRequest } from './await-lac.js';
import { decodeForceRequest, encodeForceRequest } from './force.js';
import type { Addressed, BookieIdentity } from './identity.js';
import { decodeInfoReply, decodeInfoRequest, encodeInfoReply, encodeInfoRequest } from './info.js';
import { decodeFenceRequest, decodeLacReply, decodeLedgerRequest, encodeFenceRequest, encodeLacReply, encodeLedgerRequest } from './lac.js';
import { decodeListEntriesReply, encodeListEntriesReply } from './list.js';
import { decodeReadReply, decodeReadRequest, encodeReadReply, encodeReadRequest } from './read.js';
import { decodeNumberedRead, decodeReadPart, encodeNumberedRead, encodeReadPart, type NumberedRead, type ReadPart } from './read-stream.js';
import type {
  AwaitLacReply,
  AwaitLacRequest,
  BookieInfoReply,
  CodeReply,
  FenceRequest,
  ForceRequest,
  LacReply,
  ListEntriesReply,
  ReadReply,
  ReadRequest,
  WriteLacRequest,
} from './service.js';
import { decodeCodeReply, decodeWriteLacRequest, encodeCodeReply, encodeWriteLacRequest } from './write-lac.js';

/** Both sides must allow messages of this size (`grpc.max_receive_message_length`): the largest batch or read reply with room to spare. */
export const bookieMessageBytesMax = 16 * 1024 * 1024;

/** One method in the form that grpc-js's `ServiceDefinition` has, without importing it. */
export interface BookieMethod<Request, Reply> {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (value: Request) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Request;
  readonly responseSerialize: (value: Reply) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Reply;
}

function unary<Request, Reply>(
  name: string,
  request: { encode: (value: Request) => Buffer; decode: (bytes: Buffer) => Request },
  reply: { encode: (value: Reply) => Buffer; decode: (bytes: Buffer) => Reply },
): BookieMethod<Request, Reply> {
  return {
    path: `/daybook.bookie.v1.Bookie/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: request.encode,
    requestDeserialize: request.decode,
    responseSerialize: reply.encode,
    responseDeserialize: reply.decode,
  };
}

const ledgerRequest = { encode: encodeLedgerRequest, decode: decodeLedgerRequest };
const lacReply = { encode: encodeLacReply, decode: decodeLacReply };
const codeReply = { encode: encodeCodeReply, decode: decodeCodeReply };

/** Service Bookie of bookie.proto. */
export const bookieServiceDefinition = {
  append: {
    ...unary<AppendRequest, AppendReply>(
      'Append',
      { encode: encodeAppendRequest, decode: decodeAppendRequest },
      { encode: encodeAppendReply, decode: decodeAppendReply },
    ),
    requestStream: true,
    responseStream: true,
  } as BookieMethod<AppendRequest, AppendReply>,
  read: unary<Addressed<ReadRequest>, ReadReply>(
    'Read',
    { encode: encodeReadRequest, decode: decodeReadRequest },
    { encode: encodeReadReply, decode: decodeReadReply },
  ),
  streamedRead: {
    ...unary<NumberedRead, ReadPart>(
      'StreamedRead',
      { encode: encodeNumberedRead, decode: decodeNumberedRead },
      { encode: (part) => encodeReadPart(part), decode: decodeReadPart },
    ),
    requestStream: true,
    responseStream: true,
  } as BookieMethod<NumberedRead, ReadPart>,
  fence: unary<Addressed<FenceRequest>, LacReply>('Fence', { encode: encodeFenceRequest, decode: decodeFenceRequest }, lacReply),
  readLac: unary<Addressed<LedgerId>, LacReply>('ReadLac', ledgerRequest, lacReply),
  awaitLac: unary<Addressed<AwaitLacRequest>, AwaitLacReply>('AwaitLac', { encode: encodeAwaitLacRequest, decode: decodeAwaitLacRequest }, lacReply),
  writeLac: unary<Addressed<WriteLacRequest>, CodeReply>('WriteLac', { encode: encodeWriteLacRequest, decode: decodeWriteLacRequest }, codeReply),
  force: unary<Addressed<ForceRequest>, CodeReply>('Force', { encode: encodeForceRequest, decode: decodeForceRequest }, codeReply),
  listEntries: unary<Addressed<LedgerId>, ListEntriesReply>('ListEntries', ledgerRequest, {
    encode: encodeListEntriesReply,
    decode: decodeListEntriesReply,
  }),
  info: unary<BookieIdentity, BookieInfoReply>(
    'Info',
    { encode: encodeInfoRequest, decode: decodeInfoRequest },
    { encode: encodeInfoReply, decode: decodeInfoReply },
  ),
} as const;
