import { decoding, Malformed, protoErrors } from '../errors.js';
import { type BookieId, bookieId, type EntryId } from '../ids.js';
import type { LedgerMetadata, LedgerSegment } from '../ledger-metadata.js';
import { readBinary, writeBinary } from './binary.js';
import { readLines, writeLines } from './lines.js';
import type { RawLedgerMetadata } from './raw.js';
import { readText, writeText } from './text.js';

const versionLine = /^BookieMetadataFormatVersion\t([0-9]+)$/;
const versionLineBytesMax = 40;

/**
 * Reads a ledger's record in any of BookKeeper's three serialisations. Throws `PROTO_LEDGER_METADATA_MALFORMED` for bytes that are none and for illegal records:
 * an ensemble of another size, a first segment that does not begin at 0, segments that do not rise, CLOSED without a last entry, not E >= Qw >= Qa >= 1.
 */
export function decodeLedgerMetadata(bytes: Uint8Array): LedgerMetadata {
  return decoding(protoErrors.LEDGER_METADATA_MALFORMED, () => {
    const lineEnd = bytes.indexOf(0x0a);
    if (lineEnd < 0 || lineEnd > versionLineBytesMax) throw new Malformed('it has no version line');
    const line = versionLine.exec(new TextDecoder().decode(bytes.subarray(0, lineEnd)));
    const body = bytes.subarray(lineEnd + 1);
    switch (line?.[1]) {
      case '1':
        return legal(1, readLines(new TextDecoder().decode(body)));
      case '2':
        return legal(2, readText(new TextDecoder().decode(body)));
      case '3':
        return legal(3, readBinary(body));
      default:
        throw new Malformed(line === null ? 'it has no version line' : `format version ${line[1]} is unknown`);
    }
  });
}

/** Writes the record in its own format version. Throws `PROTO_LEDGER_METADATA_UNWRITABLE` when format 1 cannot express it. */
export function encodeLedgerMetadata(metadata: LedgerMetadata): Buffer {
  const head = Buffer.from(`BookieMetadataFormatVersion\t${metadata.formatVersion}\n`);
  switch (metadata.formatVersion) {
    case 1:
      return Buffer.concat([head, Buffer.from(writeLines(metadata))]);
    case 2:
      return Buffer.concat([head, Buffer.from(writeText(metadata))]);
    case 3:
      return Buffer.concat([head, writeBinary(metadata)]);
  }
}

function legal(formatVersion: 1 | 2 | 3, raw: RawLedgerMetadata): LedgerMetadata {
  const { ensembleSize, writeQuorumSize, state, length = 0 } = raw;
  if (ensembleSize === undefined || writeQuorumSize === undefined || state === undefined) throw new Malformed('a required field is missing');
  const ackQuorumSize = raw.ackQuorumSize ?? writeQuorumSize;
  if (!(ensembleSize >= writeQuorumSize && writeQuorumSize >= ackQuorumSize && ackQuorumSize >= 1)) {
    throw new Malformed(`E ${ensembleSize} >= Qw ${writeQuorumSize} >= Qa ${ackQuorumSize} >= 1 does not hold`);
  }
  if (state === 'CLOSED' && raw.lastEntryId === undefined) throw new Malformed('it is CLOSED without a last entry');
  const lastEntryId = raw.lastEntryId ?? -1;
  if (length < 0 || lastEntryId < -1) throw new Malformed('its length or last entry is negative');
  return {
    formatVersion,
    ensembleSize,
    writeQuorumSize,
    ackQuorumSize,
    state,
    length,
    lastEntryId: lastEntryId as EntryId,
    segments: legalSegments(raw.segments, ensembleSize),
    digestType: raw.digestType ?? 'CRC32',
    password: raw.password ?? new Uint8Array(0),
    ...(raw.digestType === undefined || raw.password === undefined ? { namesNoDigest: true } : {}),
    createdAtMs: raw.createdAtMs,
    customMetadata: raw.customMetadata,
    creationToken: raw.creationToken ?? 0n,
  };
}

function legalSegments(segments: RawLedgerMetadata['segments'], ensembleSize: number): LedgerSegment[] {
  if (segments.length === 0) throw new Malformed('it has no segment');
  return segments.map(({ firstEntryId, ensemble }, index) => {
    const previous = segments[index - 1];
    if (previous === undefined ? firstEntryId !== 0 : firstEntryId <= previous.firstEntryId) {
      throw new Malformed(`segment ${index} begins at entry ${firstEntryId}`);
    }
    if (ensemble.length !== ensembleSize) throw new Malformed(`segment ${index} has ${ensemble.length} bookies, not ${ensembleSize}`);
    return { firstEntryId: firstEntryId as EntryId, ensemble: ensemble.map(legalBookieId) };
  });
}

function legalBookieId(text: string): BookieId {
  try {
    return bookieId(text);
  } catch {
    throw new Malformed(`"${text}" is no bookie id`);
  }
}
