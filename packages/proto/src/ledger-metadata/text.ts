import { Malformed } from '../errors.js';
import type { DigestType, LedgerMetadata, LedgerState } from '../ledger-metadata.js';
import {
  bigintValue,
  blockValue,
  bytesValue,
  numberValue,
  parseTextFormat,
  quoteText,
  type TextField,
  textValue,
  wordValue,
} from '../wire/text-format.js';
import { digestNumbers, type RawLedgerMetadata, stateNumbers } from './raw.js';

/** Format 2 of a ledger's record, after the version line: the message of format 3 as protobuf text, without the creation token. */
export function readText(body: string): RawLedgerMetadata {
  const raw: RawLedgerMetadata = { segments: [], customMetadata: new Map() };
  for (const field of parseTextFormat(body)) readField(raw, field);
  return raw;
}

function readField(raw: RawLedgerMetadata, field: TextField): void {
  switch (field.name) {
    case 'quorumSize':
      raw.writeQuorumSize = numberValue(field);
      break;
    case 'ensembleSize':
      raw.ensembleSize = numberValue(field);
      break;
    case 'length':
      raw.length = numberValue(field);
      break;
    case 'lastEntryId':
      raw.lastEntryId = numberValue(field);
      break;
    case 'state':
      raw.state = oneOf(field, stateNumbers) as LedgerState;
      break;
    case 'segment':
      raw.segments.push(readSegment(blockValue(field)));
      break;
    case 'digestType':
      raw.digestType = oneOf(field, digestNumbers) as DigestType;
      break;
    case 'password':
      raw.password = bytesValue(field);
      break;
    case 'ackQuorumSize':
      raw.ackQuorumSize = numberValue(field);
      break;
    case 'ctime':
      raw.createdAtMs = numberValue(field);
      break;
    case 'customMetadata':
      readCustom(raw, blockValue(field));
      break;
    case 'cToken':
      raw.creationToken = bigintValue(field);
      break;
    default:
      throw new Malformed(`unknown field ${field.name}`);
  }
}

function oneOf(field: TextField, known: Readonly<Record<string, number>>): string {
  const word = wordValue(field);
  if (!Object.hasOwn(known, word)) throw new Malformed(`${field.name} ${word} is unknown`);
  return word;
}

function readSegment(fields: readonly TextField[]): RawLedgerMetadata['segments'][number] {
  const first = fields.find((field) => field.name === 'firstEntryId');
  if (first === undefined) throw new Malformed('a segment has no firstEntryId');
  return { firstEntryId: numberValue(first), ensemble: fields.filter((field) => field.name === 'ensembleMember').map(textValue) };
}

function readCustom(raw: RawLedgerMetadata, fields: readonly TextField[]): void {
  const key = fields.find((field) => field.name === 'key');
  const value = fields.find((field) => field.name === 'value');
  if (key !== undefined) raw.customMetadata.set(textValue(key), value === undefined ? new Uint8Array(0) : bytesValue(value));
}

export function writeText(metadata: LedgerMetadata): string {
  const lines = [
    `quorumSize: ${metadata.writeQuorumSize}`,
    `ensembleSize: ${metadata.ensembleSize}`,
    `length: ${metadata.length}`,
    `lastEntryId: ${metadata.lastEntryId}`,
    `state: ${metadata.state}`,
  ];
  for (const { firstEntryId, ensemble } of metadata.segments) {
    lines.push('segment {', ...ensemble.map((bookie) => `  ensembleMember: ${quoteText(bookie)}`), `  firstEntryId: ${firstEntryId}`, '}');
  }
  if (metadata.namesNoDigest !== true) lines.push(`digestType: ${metadata.digestType}`, `password: ${quoteText(metadata.password)}`);
  lines.push(`ackQuorumSize: ${metadata.ackQuorumSize}`);
  if (metadata.createdAtMs !== undefined) lines.push(`ctime: ${metadata.createdAtMs}`);
  for (const [key, value] of metadata.customMetadata) lines.push('customMetadata {', `  key: ${quoteText(key)}`, `  value: ${quoteText(value)}`, '}');
  return `${lines.join('\n')}\n`;
}
