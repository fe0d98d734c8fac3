import { Malformed } from '../errors.js';
import type { DigestType, LedgerMetadata, LedgerState } from '../ledger-metadata.js';
import { WireReader } from '../wire/reader.js';
import { varintBytes, WireWriter } from '../wire/writer.js';
import { digestNumbers, type RawLedgerMetadata, stateNumbers } from './raw.js';

/**
 * Format 3 of a ledger's record, after the version line: a varint with the length of what follows, then LedgerMetadataFormat.
 *
 * | # | field |
 * |---|---|
 * | 1, 2, 9 | quorumSize (Qw), ensembleSize (E), ackQuorumSize (Qa), int32 |
 * | 3, 4 | length, lastEntryId (written as 0 and -1 until closed), int64 |
 * | 5 | state: OPEN 1, IN_RECOVERY 2, CLOSED 3 |
 * | 6 | segment: ensembleMember 1 string repeated, firstEntryId 2 int64 |
 * | 7, 8 | digestType: CRC32 1, HMAC 2, CRC32C 3, DUMMY 4; password bytes |
 * | 10 | ctime, ms, only when it is kept |
 * | 11 | customMetadata: key 1 string, value 2 bytes |
 * | 12 | cToken, int64: random while as created, 0 after any change |
 */
export function readBinary(body: Uint8Array): RawLedgerMetadata {
  const prefix = new PrefixReader(body);
  const raw: RawLedgerMetadata = { segments: [], customMetadata: new Map() };
  const reader = new WireReader(body, prefix.end, prefix.end + prefix.length);
  while (reader.next()) readField(raw, reader);
  return raw;
}

/** The varint in front; what is after the message (upstream writes nothing there) is refused. */
class PrefixReader {
  readonly length: number;
  readonly end: number;

  constructor(body: Uint8Array) {
    let length = 0;
    let at = 0;
    for (; ; at++) {
      const byte = body[at];
      if (byte === undefined || at > 3) throw new Malformed('the length in front of the message is cut off or too large');
      length += (byte & 0x7f) * 2 ** (7 * at);
      if (byte < 0x80) break;
    }
    this.length = length;
    this.end = at + 1;
    if (this.end + length !== body.length) throw new Malformed(`the message has ${body.length - this.end} bytes, not ${length}`);
  }
}

function readField(raw: RawLedgerMetadata, reader: WireReader): void {
  switch (reader.field) {
    case 1:
      raw.writeQuorumSize = reader.int32();
      break;
    case 2:
      raw.ensembleSize = reader.int32();
      break;
    case 3:
      raw.length = reader.int();
      break;
    case 4:
      raw.lastEntryId = reader.int();
      break;
    case 5:
      raw.state = nameOf(stateNumbers, reader.int32(), 'state') as LedgerState;
      break;
    case 6:
      raw.segments.push(readSegment(reader.message()));
      break;
    case 7:
      raw.digestType = nameOf(digestNumbers, reader.int32(), 'digest type') as DigestType;
      break;
    case 8:
      raw.password = new Uint8Array(reader.bytes());
      break;
    case 9:
      raw.ackQuorumSize = reader.int32();
      break;
    case 10:
      raw.createdAtMs = reader.int();
      break;
    case 11:
      readCustom(raw.customMetadata, reader.message());
      break;
    case 12:
      raw.creationToken = reader.int64();
      break;
    default:
      // A field from a newer BookKeeper: writing the record back would lose it, so it is not read at all.
      throw new Malformed(`unknown field ${reader.field}`);
  }
}

function nameOf(numbers: Readonly<Record<string, number>>, number: number, what: string): string {
  const found = Object.keys(numbers).find((name) => numbers[name] === number);
  if (found === undefined) throw new Malformed(`${what} ${number} is unknown`);
  return found;
}

function readSegment(reader: WireReader): RawLedgerMetadata['segments'][number] {
  const ensemble: string[] = [];
  let firstEntryId: number | undefined;
  while (reader.next()) {
    if (reader.field === 1) ensemble.push(reader.string());
    else if (reader.field === 2) firstEntryId = reader.int();
    else throw new Malformed(`unknown field ${reader.field} in a segment`);
  }
  if (firstEntryId === undefined) throw new Malformed('a segment has no firstEntryId');
  return { firstEntryId, ensemble };
}

function readCustom(custom: Map<string, Uint8Array>, reader: WireReader): void {
  let key: string | undefined;
  let value = new Uint8Array(0);
  while (reader.next()) {
    if (reader.field === 1) key = reader.string();
    else if (reader.field === 2) value = new Uint8Array(reader.bytes());
    else throw new Malformed(`unknown field ${reader.field} in custom metadata`);
  }
  if (key !== undefined) custom.set(key, value);
}

export function writeBinary(metadata: LedgerMetadata): Buffer {
  const writer = new WireWriter(256)
    .int(1, metadata.writeQuorumSize)
    .int(2, metadata.ensembleSize)
    .int(3, metadata.length)
    .int(4, metadata.lastEntryId)
    .int(5, stateNumbers[metadata.state]);
  for (const { firstEntryId, ensemble } of metadata.segments) {
    const segment = new WireWriter();
    for (const bookie of ensemble) segment.string(1, bookie);
    writer.message(6, segment.int(2, firstEntryId));
  }
  if (metadata.namesNoDigest !== true) writer.int(7, digestNumbers[metadata.digestType]).bytes(8, metadata.password);
  writer.int(9, metadata.ackQuorumSize);
  if (metadata.createdAtMs !== undefined) writer.int(10, metadata.createdAtMs);
  for (const [key, value] of metadata.customMetadata) writer.message(11, new WireWriter().string(1, key).bytes(2, value));
  writer.int(12, metadata.creationToken);
  const message = writer.finish();
  return new WireWriter(varintBytes(message.length) + message.length).length32(message.length).raw(message).finish();
}
