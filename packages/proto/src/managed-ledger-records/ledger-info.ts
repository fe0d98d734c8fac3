import { Malformed } from '../errors.js';
import { type LedgerId, ledgerId, type Position } from '../ids.js';
import { type KeyValue, readKeyValue, writeKeyValues } from '../message/metadata.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';
import { decodeRecord, joined, noBytes, readPosition, writePosition } from './parts.js';

/** One ledger of the chain. Fields that are not ours (offload contexts, later additions) are kept as bytes in `unknown` and written back after the known ones. */
export interface LedgerInfo {
  readonly ledgerId: LedgerId;
  /** Undefined while the ledger is open. */
  readonly entries: number | undefined;
  /** Bytes of all payloads. */
  readonly size: number | undefined;
  /** When it was closed; 0 while it is open. */
  readonly timestampMs: number | undefined;
  readonly unknown: Uint8Array;
}

/** `ledgerInfo 1 *{ledgerId 1, entries 2, size 3, timestamp 4}, terminatedPosition 2, properties 3 *{key 1, value 2}`. */
export interface ManagedLedgerInfo {
  /** In the order of the chain. */
  readonly ledgers: readonly LedgerInfo[];
  readonly terminatedPosition: Position | undefined;
  readonly properties: readonly KeyValue[];
  readonly unknown: Uint8Array;
}

export function newLedgerInfo(id: LedgerId): LedgerInfo {
  return { ledgerId: id, entries: undefined, size: undefined, timestampMs: 0, unknown: noBytes };
}

export function encodeManagedLedgerInfo(info: ManagedLedgerInfo): Buffer {
  const writer = new WireWriter();
  for (const ledger of info.ledgers) writer.message(1, writeLedgerInfo(ledger));
  if (info.terminatedPosition !== undefined) writer.message(2, writePosition(info.terminatedPosition));
  writeKeyValues(writer, 3, info.properties);
  return writer.raw(info.unknown).finish();
}

/** Throws `PROTO_MANAGED_LEDGER_MALFORMED`. */
export function decodeManagedLedgerInfo(bytes: Uint8Array): ManagedLedgerInfo {
  return decodeRecord('ManagedLedgerInfo', () => {
    const reader = new WireReader(bytes);
    const ledgers: LedgerInfo[] = [];
    const properties: KeyValue[] = [];
    const unknown: Uint8Array[] = [];
    let terminatedPosition: Position | undefined;
    while (reader.next()) {
      if (reader.field === 1) ledgers.push(readLedgerInfo(reader.message()));
      else if (reader.field === 2) terminatedPosition = readPosition(reader.message());
      else if (reader.field === 3) properties.push(readKeyValue(reader.message()));
      else unknown.push(reader.skip());
    }
    return { ledgers, terminatedPosition, properties, unknown: joined(unknown) };
  });
}

function writeLedgerInfo(ledger: LedgerInfo): WireWriter {
  const writer = new WireWriter().int(1, ledger.ledgerId);
  if (ledger.entries !== undefined) writer.int(2, ledger.entries);
  if (ledger.size !== undefined) writer.int(3, ledger.size);
  if (ledger.timestampMs !== undefined) writer.int(4, ledger.timestampMs);
  return writer.raw(ledger.unknown);
}

function readLedgerInfo(reader: WireReader): LedgerInfo {
  let id: LedgerId | undefined;
  let entries: number | undefined;
  let size: number | undefined;
  let timestampMs: number | undefined;
  const unknown: Uint8Array[] = [];
  while (reader.next()) {
    if (reader.field === 1) id = ledgerId(reader.uint());
    else if (reader.field === 2) entries = reader.uint();
    else if (reader.field === 3) size = reader.uint();
    else if (reader.field === 4) timestampMs = reader.uint();
    else unknown.push(reader.skip());
  }
  if (id === undefined) throw new Malformed('a ledger has no id');
  return { ledgerId: id, entries, size, timestampMs, unknown: joined(unknown) };
}
