import type { Disk } from '@daybook/runtime';
import { checkpointFileName, decodeCheckpoint, encodeCheckpoint, type LogExtent } from '../storage/checkpoint-format.js';
import { encodeLogHeader, encodeLogRecord, logFileName, logHeaderBytes, logRecordHeaderBytes } from '../storage/entry-log-format.js';
import { encodeIndexHeader, indexFileName, indexHeaderBytes } from '../storage/index-format.js';
import { buildIndexTable } from '../storage/index-table.js';
import { decodeLedgerStates, encodeLedgerStates, ledgerStatesFileName } from '../storage/ledger-state-format.js';
import { OpenIndex } from '../storage/open-index.js';
import { readWholeFile, replaceFile } from '../storage/replace-file.js';
import { entryOf, testKey } from './batches.js';

export interface SparseLogsOptions {
  disk: Disk;
  /** Of a bookie that was opened once and closed. */
  ledgerDirectory: string;
  logsCount: number;
  /** Each log holds {@link entriesPerRun} entries of each of the ledgers 0 to here. */
  ledgersCount: number;
  logBytes: number;
}

/** Log `n` of the ones made (from 0) has the entries from `n` times this on. */
export const entriesPerRun = 10;

/**
 * Gives a stopped bookie sealed logs, as many and as large as one likes: their indexes are whole, but only the entries of ledger 0 are there, the rest is a
 * hole in the file. For tests of what a start, a look-up or garbage collection cost.
 */
export async function makeSparseLogs(options: SparseLogsOptions): Promise<void> {
  const { disk, ledgerDirectory, logsCount, ledgersCount } = options;
  const before = decodeCheckpoint((await readWholeFile(disk, `${ledgerDirectory}/${checkpointFileName}`)) as Buffer, checkpointFileName);
  const snapshot = decodeLedgerStates((await readWholeFile(disk, `${ledgerDirectory}/${ledgerStatesFileName}`)) as Buffer, ledgerStatesFileName);
  if (before === undefined || snapshot === undefined) throw new Error('the bookie must have been opened once');
  const logs: LogExtent[] = [];
  for (let i = 0; i < logsCount; i++) logs.push(await makeLog(options, before.nextLogId + i, i));
  const states = Array.from({ length: ledgersCount }, (_, ledgerId) => ({ ledgerId, isFenced: false, masterKey: testKey }));
  const source = { count: states.length, all: () => states, deletedCount: 0, allDeleted: () => [] };
  await replaceFile(disk, ledgerDirectory, ledgerStatesFileName, encodeLedgerStates(snapshot.checkpointNumber, source));
  const checkpoint = { ...before, number: before.number + 1, nextLogId: before.nextLogId + logsCount, logs: [...before.logs, ...logs] };
  await replaceFile(disk, ledgerDirectory, checkpointFileName, encodeCheckpoint(checkpoint));
}

/** Bytes of the payload of an entry of ledger 0. */
export function sparsePayloadBytes({ ledgersCount, logBytes }: Pick<SparseLogsOptions, 'ledgersCount' | 'logBytes'>): number {
  return recordBytesOf(ledgersCount, logBytes) - logRecordHeaderBytes - entryOf(0, 0, 0).length;
}

function recordBytesOf(ledgersCount: number, logBytes: number): number {
  return Math.floor((logBytes - logHeaderBytes) / ledgersCount / entriesPerRun);
}

async function makeLog(options: SparseLogsOptions, logId: number, i: number): Promise<LogExtent> {
  const { disk, ledgerDirectory, ledgersCount } = options;
  const recordBytes = recordBytesOf(ledgersCount, options.logBytes);
  const logBytes = logHeaderBytes + recordBytes * entriesPerRun * ledgersCount;
  const index = new OpenIndex();
  for (let ledgerId = 0; ledgerId < ledgersCount; ledgerId++) {
    const start = logHeaderBytes + ledgerId * recordBytes * entriesPerRun;
    const positions = Uint32Array.from({ length: entriesPerRun + 1 }, (_, entry) => start + entry * recordBytes);
    index.add({ ledgerId, firstEntryId: i * entriesPerRun, count: entriesPerRun, positions, at: 0 });
  }
  const table = buildIndexTable(index, logId, { offset: indexHeaderBytes, logBytes, holeBytes: 0 });
  await writeFile(disk, `${ledgerDirectory}/${indexFileName(logId)}`, Buffer.concat([encodeIndexHeader(logId), table.bytes]));
  const records = Buffer.alloc(recordBytes * entriesPerRun);
  for (let entry = 0; entry < entriesPerRun; entry++) {
    const source = entryOf(0, i * entriesPerRun + entry, sparsePayloadBytes(options));
    encodeLogRecord(records, entry * recordBytes, { source, start: 0, end: source.length });
  }
  await writeFile(disk, `${ledgerDirectory}/${logFileName(logId)}`, Buffer.concat([encodeLogHeader(logId), records]), logBytes);
  return { logId, logBytes, indexBytes: indexHeaderBytes + table.bytes.length, isSealed: true, isCompacted: false };
}

async function writeFile(disk: Disk, path: string, content: Buffer, bytes = content.length): Promise<void> {
  const file = await disk.open(path, { mode: 'create' });
  await file.writeAt(0, content);
  if (bytes > content.length) await file.truncate(bytes);
  await file.close();
}
