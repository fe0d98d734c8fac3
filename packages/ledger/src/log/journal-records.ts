import { blockValue, type LedgerId, ledgerId, numberValue, parseTextFormat, quoteText, type TextField, textValue } from '@daybook/proto';
import { BrokenInvariant } from '@daybook/runtime';
import { journalErrors } from './errors.js';

/** Which name node's journal it is; all of it is stored, ids are compared. */
export interface NamespaceInfo {
  readonly namespaceId: number;
  readonly clusterId: string;
  readonly blockPoolId: string;
  /** Version of the operations' layout; negative, as the name node counts. */
  readonly layoutVersion: number;
  readonly createdAtMs?: number;
  readonly buildVersion?: string;
  readonly softwareVersion?: string;
}

/** Version of the journal's own layout; persisted. */
export const journalLayoutVersion = -1;

/**
 * The version record (persisted): protobuf text, `VersionProto { layoutVersion, namespaceInfo { buildVersion, unused, blockPoolID, storageInfo { layoutVersion,
 * namespceID, clusterID, cTime }, softwareVersion } }`, names as the name node spells them.
 */
export function encodeVersion(info: NamespaceInfo): string {
  const { namespaceId, clusterId, blockPoolId, layoutVersion, createdAtMs = 0, buildVersion = '', softwareVersion = '' } = info;
  return [
    `layoutVersion: ${journalLayoutVersion}`,
    'namespaceInfo {',
    `  buildVersion: ${quoteText(buildVersion)}`,
    '  unused: 0',
    `  blockPoolID: ${quoteText(blockPoolId)}`,
    '  storageInfo {',
    `    layoutVersion: ${layoutVersion >>> 0}`,
    `    namespceID: ${namespaceId}`,
    `    clusterID: ${quoteText(clusterId)}`,
    `    cTime: ${createdAtMs}`,
    '  }',
    `  softwareVersion: ${quoteText(softwareVersion)}`,
    '}',
    '',
  ].join('\n');
}

/** Rejects with `JOURNAL_INCOMPLETE_VERSION`. */
export function decodeVersion(text: string, journal: string): NamespaceInfo {
  try {
    return versionOf(parseTextFormat(text));
  } catch (error) {
    if (error instanceof BrokenInvariant) throw error;
    throw journalErrors.INCOMPLETE_VERSION(journal, (error as Error).message, { cause: error });
  }
}

function versionOf(fields: readonly TextField[]): NamespaceInfo {
  const version = numberValue(field(fields, 'layoutVersion'));
  if (version !== journalLayoutVersion) throw new RangeError(`layout version ${version}, not ${journalLayoutVersion}`);
  const info = blockValue(field(fields, 'namespaceInfo'));
  const storage = blockValue(field(info, 'storageInfo'));
  return {
    namespaceId: numberValue(field(storage, 'namespceID')),
    clusterId: textValue(field(storage, 'clusterID')),
    blockPoolId: textValue(field(info, 'blockPoolID')),
    layoutVersion: numberValue(field(storage, 'layoutVersion')) | 0,
    createdAtMs: numberValue(field(storage, 'cTime')),
    buildVersion: textValue(field(info, 'buildVersion')),
    softwareVersion: textValue(field(info, 'softwareVersion')),
  };
}

function field(fields: readonly TextField[], name: string): TextField {
  const found = fields.find((one) => one.name === name);
  if (found === undefined) throw new RangeError(`${name} is missing`);
  return found;
}

/** A segment of edits. `lastTxId` is undefined while it is in progress. */
export interface JournalSegment {
  readonly layoutVersion: number;
  readonly ledgerId: LedgerId;
  readonly firstTxId: number;
  readonly lastTxId: number | undefined;
}

/** A segment as text (persisted): `layout;ledgerId;firstTxId` in progress, `layout;ledgerId;firstTxId;lastTxId` finalized. */
export function encodeJournalSegment({ layoutVersion, ledgerId: id, firstTxId, lastTxId }: JournalSegment): string {
  return [layoutVersion, id, firstTxId, ...(lastTxId === undefined ? [] : [lastTxId])].join(';');
}

/** Takes exactly what {@link encodeJournalSegment} makes. Rejects with `JOURNAL_MALFORMED`. */
export function decodeJournalSegment(text: string, what: string): JournalSegment {
  const fields = text.split(';').map(Number);
  const [layoutVersion = 0, id = -1, firstTxId = -1, lastTxId] = fields;
  const isGood = fields.every(Number.isSafeInteger) && fields.length <= 4 && id >= 0 && firstTxId >= 0 && (lastTxId ?? 0) >= 0;
  const segment = { layoutVersion, ledgerId: ledgerId(isGood ? id : 0), firstTxId, lastTxId };
  if (!isGood || encodeJournalSegment(segment) !== text) throw journalErrors.MALFORMED(what, `"${text.slice(0, 200)}"`);
  return segment;
}

/** The pointer to the segment in progress (persisted): `layout;path;host`; empty when there is none. */
export function encodeCurrentInProgress(path: string, host: string): string {
  return `${journalLayoutVersion};${path};${host}`;
}

/** The path; undefined when there is none. Rejects with `JOURNAL_MALFORMED`. */
export function decodeCurrentInProgress(text: string, what: string): string | undefined {
  if (text === '') return undefined;
  const [layout, path] = text.split(';');
  if (layout !== String(journalLayoutVersion) || path === undefined || path === '') throw journalErrors.MALFORMED(what, `"${text.slice(0, 200)}"`);
  return path;
}

/** Rejects with `JOURNAL_MALFORMED`. */
export function decodeMaxTxId(text: string, what: string): number {
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw journalErrors.MALFORMED(what, `"${text.slice(0, 200)}" is no transaction id`);
  return Number(text);
}
