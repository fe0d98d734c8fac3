import { crc32c } from '@daybook/runtime';
import type { MetadataTree, TreeChange } from './metadata-tree.js';
import { noOwner } from './metadata-tree.js';

/**
 * Bytes of the embedded store's two kinds of file, both a header and then records. Numbers are big-endian.
 *
 * `log-<generation>` (everything since the snapshot of that generation) and `snapshot` (everything at one moment; its last change is an end mark):
 *
 * | header at | size | meaning |
 * |---|---|---|
 * | 0 | 4 | magic: `DBML` log, `DBMS` snapshot |
 * | 4 | 4 | format version, 1 (persisted) |
 * | 8 | 8 | generation |
 * | 16 | 4 | CRC-32C of bytes 0-15 |
 * | 20 | 4 | zero |
 *
 * | record at | size | meaning |
 * |---|---|---|
 * | 0 | 4 | magic `DBMR` |
 * | 4 | 4 | bytes of the body |
 * | 8 | 8 | number of the record in its file, from 1 |
 * | 16 | 4 | CRC-32C of: generation (8), position of the record (8), bytes 0-15, body. A record in the wrong place is a bad one |
 * | 20 | | body: changes one after the other, applied all or none |
 *
 * | change | bytes |
 * |---|---|
 * | put | 1 (1), path bytes (2), version (4), value bytes (4), path, value |
 * | delete | 2 (1), path bytes (2), path |
 * | next sequence number of a parent | 3 (1), path bytes (2), number (4), path |
 * | end of a snapshot | 4 (1), values in it (4) |
 *
 * A record is one commit: it is written and synced before the next one is begun. So a bad record at the end of a log is a commit that was under way
 * (nobody was told of it), and a bad one with a good one behind it is damage.
 */
export const headerBytes = 24;
const recordHeaderBytes = 20;
const formatVersion = 1;
const recordMagic = Buffer.from('DBMR');
const magics = { log: 'DBML', snapshot: 'DBMS' } as const;
const tags = { put: 1, delete: 2, sequence: 3, end: 4 } as const;
/** Snapshots are cut into records of about so many bytes. */
const snapshotRecordBytes = 1024 * 1024;

export type FileKind = keyof typeof magics;

export type StoredChange =
  | { kind: 'put'; path: string; version: number; value: Buffer }
  | { kind: 'delete'; path: string }
  | { kind: 'sequence'; path: string; next: number }
  | { kind: 'end'; valuesCount: number };

export function encodeHeader(kind: FileKind, generation: number): Buffer {
  const out = Buffer.alloc(headerBytes);
  out.write(magics[kind], 0, 'latin1');
  out.writeUInt32BE(formatVersion, 4);
  out.writeBigUInt64BE(BigInt(generation), 8);
  out.writeUInt32BE(crc32c(out.subarray(0, 16)), 16);
  return out;
}

/** What is wrong with the header of a file, or undefined. */
export function headerFault(file: Buffer, kind: FileKind, generation?: number): string | undefined {
  if (file.length < headerBytes) return `it has ${file.length} bytes, fewer than its header`;
  if (file.toString('latin1', 0, 4) !== magics[kind]) return 'it does not begin as a metadata file does';
  if (file.readUInt32BE(16) !== crc32c(file.subarray(0, 16))) return 'the checksum of its header is wrong';
  if (file.readUInt32BE(4) !== formatVersion) return `it has format ${file.readUInt32BE(4)}, this version of Daybook knows ${formatVersion}`;
  const found = headerGeneration(file);
  if (generation !== undefined && found !== generation) return `it belongs to generation ${found}, not ${generation}`;
  return undefined;
}

export function headerGeneration(file: Buffer): number {
  return Number(file.readBigUInt64BE(8));
}

/** The place of a record, bound into its checksum. */
export interface RecordPlace {
  generation: number;
  position: number;
  number: number;
}

export function encodeRecord(place: RecordPlace, changes: readonly StoredChange[]): Buffer {
  const bodies = changes.map(encodeChange);
  const bodyBytes = bodies.reduce((sum, body) => sum + body.length, 0);
  const out = Buffer.concat([Buffer.alloc(recordHeaderBytes), ...bodies], recordHeaderBytes + bodyBytes);
  recordMagic.copy(out, 0);
  out.writeUInt32BE(bodyBytes, 4);
  out.writeBigUInt64BE(BigInt(place.number), 8);
  out.writeUInt32BE(recordCrc(place, out), 16);
  return out;
}

/** A record's changes and where the next one begins; undefined when there is no good record at that place. */
export function decodeRecord(file: Buffer, place: RecordPlace): { changes: StoredChange[]; end: number } | undefined {
  const end = recordEnd(file, place.position);
  if (end === undefined || file.readBigUInt64BE(place.position + 8) !== BigInt(place.number)) return undefined;
  const record = file.subarray(place.position, end);
  if (record.readUInt32BE(16) !== recordCrc(place, record)) return undefined;
  return { changes: decodeChanges(record), end };
}

/** Whether some good record begins behind `position`: then what is at `position` is damage, not the end. */
export function hasRecordAfter(file: Buffer, generation: number, position: number): boolean {
  for (let at = file.indexOf(recordMagic, position + 1); at >= 0; at = file.indexOf(recordMagic, at + 1)) {
    const end = recordEnd(file, at);
    if (end === undefined) continue;
    const number = Number(file.readBigUInt64BE(at + 8));
    if (file.readUInt32BE(at + 16) === recordCrc({ generation, position: at, number }, file.subarray(at, end))) return true;
  }
  return false;
}

/** A whole snapshot file. Ephemeral values are left out: they end with the process. */
export function encodeSnapshot(tree: MetadataTree, generation: number): Buffer {
  const parts = [encodeHeader('snapshot', generation)];
  let position = headerBytes;
  let number = 1;
  const add = (changes: StoredChange[]) => {
    const record = encodeRecord({ generation, position, number }, changes);
    parts.push(record);
    position += record.length;
    number += 1;
  };
  let changes: StoredChange[] = [];
  let bytes = 0;
  let valuesCount = 0;
  for (const [path, node] of tree.entries()) {
    if (node.owner !== noOwner) continue;
    changes.push({ kind: 'put', path, version: node.version, value: node.value });
    if (node.nextSequence > 0) changes.push({ kind: 'sequence', path, next: node.nextSequence });
    bytes += path.length + node.value.length;
    valuesCount += 1;
    if (bytes < snapshotRecordBytes) continue;
    add(changes);
    changes = [];
    bytes = 0;
  }
  changes.push({ kind: 'end', valuesCount });
  add(changes);
  return Buffer.concat(parts, position);
}

/** What of a write outlives the process. */
export function storedChanges(changes: readonly TreeChange[]): StoredChange[] {
  const stored: StoredChange[] = [];
  for (const change of changes) {
    if (change.kind === 'sequence') stored.push(change);
    else if (change.node.owner !== noOwner) continue;
    else if (change.kind === 'delete') stored.push({ kind: 'delete', path: change.path });
    else stored.push({ kind: 'put', path: change.path, version: change.node.version, value: change.node.value });
  }
  return stored;
}

function recordEnd(file: Buffer, position: number): number | undefined {
  if (position + recordHeaderBytes > file.length || file.compare(recordMagic, 0, 4, position, position + 4) !== 0) return undefined;
  const end = position + recordHeaderBytes + file.readUInt32BE(position + 4);
  return end > file.length ? undefined : end;
}

function recordCrc(place: RecordPlace, record: Buffer): number {
  const binding = Buffer.alloc(16);
  binding.writeBigUInt64BE(BigInt(place.generation), 0);
  binding.writeBigUInt64BE(BigInt(place.position), 8);
  return crc32c(record.subarray(recordHeaderBytes), crc32c(record.subarray(0, 16), crc32c(binding)));
}

function encodeChange(change: StoredChange): Buffer {
  if (change.kind === 'end') {
    const out = Buffer.alloc(5);
    out.writeUInt8(tags.end, 0);
    out.writeUInt32BE(change.valuesCount, 1);
    return out;
  }
  const path = Buffer.from(change.path);
  const fixedBytes = change.kind === 'put' ? 11 : change.kind === 'sequence' ? 7 : 3;
  const value = change.kind === 'put' ? change.value : noBytes;
  const out = Buffer.alloc(fixedBytes + path.length + value.length);
  out.writeUInt8(tags[change.kind], 0);
  out.writeUInt16BE(path.length, 1);
  if (change.kind === 'put') {
    out.writeUInt32BE(change.version, 3);
    out.writeUInt32BE(value.length, 7);
  } else if (change.kind === 'sequence') out.writeUInt32BE(change.next, 3);
  path.copy(out, fixedBytes);
  value.copy(out, fixedBytes + path.length);
  return out;
}

const noBytes = Buffer.alloc(0);

/** The checksum was right, so this is what we wrote: it throws a RangeError only for bytes that a newer version wrote. */
function decodeChanges(record: Buffer): StoredChange[] {
  const changes: StoredChange[] = [];
  let at = recordHeaderBytes;
  while (at < record.length) {
    const tag = record.readUInt8(at);
    if (tag === tags.end) {
      changes.push({ kind: 'end', valuesCount: record.readUInt32BE(at + 1) });
      at += 5;
      continue;
    }
    const pathBytes = record.readUInt16BE(at + 1);
    if (tag === tags.put) {
      const pathAt = at + 11;
      const valueAt = pathAt + pathBytes;
      const valueEnd = valueAt + record.readUInt32BE(at + 7);
      if (valueEnd > record.length) throw new RangeError('a value is longer than its record');
      const value = Buffer.from(record.subarray(valueAt, valueEnd));
      changes.push({ kind: 'put', path: record.toString('utf8', pathAt, valueAt), version: record.readUInt32BE(at + 3), value });
      at = valueEnd;
    } else if (tag === tags.delete) {
      changes.push({ kind: 'delete', path: record.toString('utf8', at + 3, at + 3 + pathBytes) });
      at += 3 + pathBytes;
    } else if (tag === tags.sequence) {
      changes.push({ kind: 'sequence', path: record.toString('utf8', at + 7, at + 7 + pathBytes), next: record.readUInt32BE(at + 3) });
      at += 7 + pathBytes;
    } else throw new RangeError(`unknown kind of change: ${tag}`);
  }
  return changes;
}
