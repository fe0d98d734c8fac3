import { decoding, Malformed, protoErrors } from '../errors.js';
import { type LedgerId, ledgerId } from '../ids.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';
import { bookieCodeNumbers, bookieCodeOf } from './codes.js';
import { type Addressed, type BookieIdentity, readIdentity, writeIdentity } from './identity.js';
import { readMasterKey } from './read.js';
import type { AwaitLacReply, BookieCode, FenceRequest } from './service.js';

/** Messages FenceRequest, ReadLacRequest and LacReply of bookie.proto. */

export function encodeFenceRequest({ expected, request }: Addressed<FenceRequest>): Buffer {
  return new WireWriter().message(1, writeIdentity(expected)).int(2, request.ledgerId).bytes(3, request.masterKey).finish();
}

/** Throws `PROTO_FRAME_MALFORMED`. */
export function decodeFenceRequest(bytes: Uint8Array): Addressed<FenceRequest> {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('FenceRequest', detail),
    () => {
      const reader = new WireReader(bytes);
      let expected: BookieIdentity | undefined;
      let ledger: LedgerId | undefined;
      let masterKey: Uint8Array | undefined;
      while (reader.next()) {
        if (reader.field === 1) expected = readIdentity(reader.message());
        else if (reader.field === 2) ledger = ledgerId(reader.uint());
        else if (reader.field === 3) masterKey = readMasterKey(reader);
        else reader.skip();
      }
      if (expected === undefined || ledger === undefined || masterKey === undefined) throw new Malformed('a required field is missing');
      return { expected, request: { ledgerId: ledger, masterKey } };
    },
  );
}

/** Also ListEntriesRequest, which has the same fields. */
export function encodeLedgerRequest({ expected, request }: Addressed<LedgerId>): Buffer {
  return new WireWriter().message(1, writeIdentity(expected)).int(2, request).finish();
}

/** Throws `PROTO_FRAME_MALFORMED`. */
export function decodeLedgerRequest(bytes: Uint8Array): Addressed<LedgerId> {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('request', detail),
    () => {
      const reader = new WireReader(bytes);
      let expected: BookieIdentity | undefined;
      let ledger: LedgerId | undefined;
      while (reader.next()) {
        if (reader.field === 1) expected = readIdentity(reader.message());
        else if (reader.field === 2) ledger = ledgerId(reader.uint());
        else reader.skip();
      }
      if (expected === undefined || ledger === undefined) throw new Malformed('a required field is missing');
      return { expected, request: ledger };
    },
  );
}

export function encodeLacReply(reply: AwaitLacReply): Buffer {
  const writer = new WireWriter((reply.lastEntry?.length ?? 0) + (reply.entry?.length ?? 0) + 96).int(1, bookieCodeNumbers[reply.code]);
  if (reply.lastEntry !== undefined) writer.bytes(2, reply.lastEntry);
  if (reply.explicitLac !== undefined) writer.bytes(3, reply.explicitLac);
  if (reply.entry !== undefined) writer.bytes(4, reply.entry);
  return writer.finish();
}

/** The entries are views into `bytes`. Throws `PROTO_FRAME_MALFORMED`. */
export function decodeLacReply(bytes: Buffer): AwaitLacReply {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('LacReply', detail),
    () => {
      const reader = new WireReader(bytes);
      let code: BookieCode | undefined;
      let lastEntry: Buffer | undefined;
      let explicitLac: Buffer | undefined;
      let entry: Buffer | undefined;
      while (reader.next()) {
        if (reader.field === 1) code = bookieCodeOf(reader.uint());
        else if (reader.field === 2) lastEntry = reader.bytes() as Buffer;
        else if (reader.field === 3) explicitLac = reader.bytes() as Buffer;
        else if (reader.field === 4) entry = reader.bytes() as Buffer;
        else reader.skip();
      }
      if (code === undefined) throw new Malformed('it has no code');
      if ((code === 'OK') !== (lastEntry !== undefined)) throw new Malformed(`code ${code} ${lastEntry ? 'with' : 'without'} an entry`);
      return {
        code,
        ...(lastEntry !== undefined && { lastEntry }),
        ...(explicitLac !== undefined && { explicitLac }),
        ...(entry !== undefined && { entry }),
      };
    },
  );
}
