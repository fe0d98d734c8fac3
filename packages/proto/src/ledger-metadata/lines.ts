import { Malformed, protoErrors } from '../errors.js';
import type { LedgerMetadata } from '../ledger-metadata.js';
import type { RawLedgerMetadata } from './raw.js';

/**
 * Format 1 of a ledger's record, after the version line: write quorum, ensemble size and length on a line each; a line per segment, `first entry` and
 * its bookies, separated by tabs; when closed `last entry<TAB>CLOSED`, in recovery `-102<TAB>CLOSED`, without a line end. Digest, password and ack quorum have no place.
 */
const inRecoveryMark = -102;

export function readLines(body: string): RawLedgerMetadata {
  const lines = body.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const [writeQuorum, ensemble, length, ...rest] = lines;
  const raw: RawLedgerMetadata = {
    writeQuorumSize: wholeNumber(writeQuorum),
    ensembleSize: wholeNumber(ensemble),
    length: wholeNumber(length),
    state: 'OPEN',
    segments: [],
    customMetadata: new Map(),
  };
  for (const [index, line] of rest.entries()) {
    const [first, ...bookies] = line.split('\t');
    if (bookies.length === 1 && bookies[0] === 'CLOSED' && index === rest.length - 1) {
      const last = wholeNumber(first);
      raw.state = last === inRecoveryMark ? 'IN_RECOVERY' : 'CLOSED';
      if (last !== inRecoveryMark) raw.lastEntryId = last;
    } else raw.segments.push({ firstEntryId: wholeNumber(first), ensemble: bookies });
  }
  return raw;
}

function wholeNumber(text: string | undefined): number {
  const value = text !== undefined && /^-?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new Malformed(`"${text ?? ''}" where a number should be`);
  return value;
}

export function writeLines(metadata: LedgerMetadata): string {
  if (metadata.ackQuorumSize !== metadata.writeQuorumSize) {
    throw protoErrors.LEDGER_METADATA_UNWRITABLE(1, 'the ack quorum is smaller than the write quorum');
  }
  if (metadata.customMetadata.size > 0) throw protoErrors.LEDGER_METADATA_UNWRITABLE(1, 'there is custom metadata');
  const lines = [`${metadata.writeQuorumSize}\n${metadata.ensembleSize}\n${metadata.length}\n`];
  for (const { firstEntryId, ensemble } of metadata.segments) lines.push(`${[firstEntryId, ...ensemble].join('\t')}\n`);
  if (metadata.state !== 'OPEN') lines.push(`${metadata.state === 'CLOSED' ? metadata.lastEntryId : inRecoveryMark}\tCLOSED`);
  return lines.join('');
}
