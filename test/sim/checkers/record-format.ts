/** Small decoders of their own for what the metadata store holds: checkers trust nothing of the core's. */

export interface LedgerRecord {
  readonly ensembleSize: number;
  readonly writeQuorumSize: number;
  readonly ackQuorumSize: number;
  readonly state: 'OPEN' | 'IN_RECOVERY' | 'CLOSED';
  readonly length: number;
  readonly lastEntryId: number;
  readonly segments: readonly { firstEntryId: number; ensemble: readonly string[] }[];
}

interface Field {
  readonly number: number;
  readonly value: bigint;
  readonly bytes: Buffer;
}

function* fieldsOf(bytes: Buffer): Generator<Field> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error('a record is cut off');
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = Number(varint());
    if ((key & 7) === 0) yield { number: key >> 3, value: varint(), bytes: Buffer.alloc(0) };
    else if ((key & 7) === 2) {
      const length = Number(varint());
      yield { number: key >> 3, value: 0n, bytes: bytes.subarray(at, at + length) };
      at += length;
    } else throw new Error(`wire type ${key & 7}`);
  }
}

function signed(value: bigint): number {
  return Number(BigInt.asIntN(64, value));
}

const states = { 1: 'OPEN', 2: 'IN_RECOVERY', 3: 'CLOSED' } as const;

export function decodeLedgerRecord(value: Buffer): LedgerRecord {
  const lineEnd = value.indexOf('\n');
  if (value.toString('latin1', 0, lineEnd) !== 'BookieMetadataFormatVersion\t3') throw new Error('not a ledger record of format 3');
  let at = lineEnd + 1;
  while ((value[at++] as number) >= 0x80);
  const numbers = new Map<number, number>();
  const segments: { firstEntryId: number; ensemble: string[] }[] = [];
  for (const field of fieldsOf(value.subarray(at))) {
    if (field.number !== 6) {
      numbers.set(field.number, signed(field.value));
      continue;
    }
    const segment = { firstEntryId: 0, ensemble: [] as string[] };
    for (const part of fieldsOf(field.bytes)) {
      if (part.number === 1) segment.ensemble.push(part.bytes.toString());
      else if (part.number === 2) segment.firstEntryId = signed(part.value);
    }
    segments.push(segment);
  }
  const writeQuorumSize = numbers.get(1) as number;
  return {
    ensembleSize: numbers.get(2) as number,
    writeQuorumSize,
    ackQuorumSize: numbers.get(9) ?? writeQuorumSize,
    state: states[numbers.get(5) as 1 | 2 | 3],
    length: numbers.get(3) ?? 0,
    lastEntryId: numbers.get(4) ?? -1,
    segments,
  };
}

/** `/ledgers/00/0000/L0012` → 12. */
export function ledgerOfPath(path: string): number | undefined {
  const match = /^\/ledgers\/(\d{2})\/(\d{4})\/L(\d{4})$/.exec(path);
  return match === null ? undefined : Number(match.slice(1).join(''));
}

/** The ledgers of a log, in their order. */
export function decodeLogRecord(value: Buffer): number[] {
  const ledgers: number[] = [];
  for (const field of fieldsOf(value)) {
    if (field.number !== 1) continue;
    for (const part of fieldsOf(field.bytes)) if (part.number === 1) ledgers.push(signed(part.value));
  }
  return ledgers;
}

/** The members that store an entry, by the record. */
export function writeSetOf(record: LedgerRecord, entryId: number): string[] {
  const segment = record.segments.findLast((candidate) => candidate.firstEntryId <= entryId);
  if (segment === undefined) return [];
  return Array.from({ length: record.writeQuorumSize }, (_, i) => segment.ensemble[(entryId + i) % record.ensembleSize] as string);
}

/** The indexes of the ensemble that store an entry. */
export function membersOf({ writeQuorumSize, ensembleSize }: LedgerRecord, entryId: number): number[] {
  return Array.from({ length: writeQuorumSize }, (_, i) => (entryId + i) % ensembleSize);
}
