import { type LedgerReader, ledgerErrors } from '@daybook/ledger';
import { createDigest, decodeEntry, entryId, type LedgerMetadata, ledgerId } from '@daybook/proto';
import { payloadText } from '../ledger/ledger-commands.js';
import { findBookie } from './cluster-facts.js';
import { type ClusterOptions, type ClusterSession, inCluster } from './cluster-session.js';
import { shellErrors } from './errors.js';
import { factsText, type OutputOptions, printJson, printLine, printResult } from './output.js';

export interface ReadLedgerOptions extends ClusterOptions, OutputOptions {
  firstentryid: number;
  lastentryid?: number;
  bookie?: string;
  forceRecovery?: boolean;
  msg?: boolean;
}

export interface SimpleTestOptions extends ClusterOptions, OutputOptions {
  ensemble: number;
  writequorum: number;
  ackquorum: number;
  numentries: number;
  entrybytes: number;
}

const readBytesMax = 1 << 20;

export async function readLedger(id: number, options: ReadLedgerOptions): Promise<void> {
  await inCluster(options, async (session) => {
    const found = await session.records.read(ledgerId(id));
    if (found === undefined) throw ledgerErrors.NOT_FOUND(id);
    if (options.bookie !== undefined) return readFromBookie(session, { id, metadata: found.metadata, bookie: options.bookie }, options);
    const access = { password: found.metadata.password };
    const { ledgers } = session;
    const reader = await (options.forceRecovery ? ledgers.openWithRecovery(ledgerId(id), access) : ledgers.openWithoutRecovery(ledgerId(id), access));
    await printEntries(reader, options);
  });
}

async function printEntries(reader: LedgerReader, options: ReadLedgerOptions): Promise<void> {
  const last = entryId(options.lastentryid ?? reader.lastAddConfirmed);
  for (let next = entryId(options.firstentryid); next <= last; ) {
    for (const { entryId: id, payload } of await reader.readBatch(next, last, readBytesMax)) {
      printEntry({ ledgerId: reader.ledgerId, entryId: id }, payload, options);
      next = entryId(id + 1);
    }
  }
}

function printEntry(place: { ledgerId: number; entryId: number }, payload: Buffer, { json, msg }: ReadLedgerOptions): void {
  if (json) printJson({ ...place, bytes: payload.length, ...(msg && { payload: payload.toString('base64') }) });
  else printLine(`${place.entryId}\t${payload.length} bytes${msg ? `\t${payloadText(payload)}` : ''}`);
}

/** Everything that one bookie has of a ledger, each entry proved against the ledger's digest. */
async function readFromBookie(
  session: ClusterSession,
  { id, metadata, bookie }: { id: number; metadata: LedgerMetadata; bookie: string },
  options: ReadLedgerOptions,
): Promise<void> {
  const service = session.bookies.get(findBookie(session, bookie).bookieId)?.service;
  const listed = await service?.listEntries(ledgerId(id));
  if (service === undefined || listed === undefined || listed.code !== 'OK') throw shellErrors.BOOKIE_ANSWER(bookie, listed?.code ?? 'UNAVAILABLE');
  const digest = createDigest(metadata.digestType, metadata.password);
  const problems: string[] = [];
  for (const { first, last } of listed.runs) {
    const end = Math.min(last, options.lastentryid ?? last);
    for (let next = Math.max(first, options.firstentryid); next <= end; next++) {
      const { code, entries } = await service.read({ ledgerId: ledgerId(id), entryIds: [entryId(next)], bytesMax: readBytesMax });
      const [entry] = entries;
      if (entry === undefined) problems.push(`entry ${next}: ${code}`);
      else printEntry({ ledgerId: id, entryId: next }, decodeEntry(entry, digest, ledgerId(id), entryId(next)).payload, options);
    }
  }
  if (problems.length > 0) throw shellErrors.PROBLEMS(problems.length, problems.slice(0, 10).join('; '));
}

const unansweredMax = 1_000;

export async function simpleTest(options: SimpleTestOptions): Promise<void> {
  await inCluster(options, async ({ ledgers, parts }) => {
    const password = Buffer.from('simple test');
    const sizes = { ensembleSize: options.ensemble, writeQuorumSize: options.writequorum, ackQuorumSize: options.ackquorum };
    const payloadOf = (index: number): Buffer => Buffer.alloc(options.entrybytes, `entry ${index} `);
    const writer = await ledgers.create({ ...sizes, password });
    try {
      const startMs = parts.clock.monoMs();
      let underWay: Promise<unknown>[] = [];
      for (let index = 0; index < options.numentries; index++) {
        underWay.push(writer.append(payloadOf(index)));
        if (underWay.length < unansweredMax) continue;
        await Promise.all(underWay);
        underWay = [];
      }
      await Promise.all(underWay);
      const writtenMs = parts.clock.monoMs() - startMs;
      await writer.close();
      const read = await readBack(await ledgers.openWithoutRecovery(writer.ledgerId, { password }), payloadOf);
      const facts = { ledgerId: writer.ledgerId, entriesWritten: options.numentries, entriesRead: read, writeMs: Math.round(writtenMs) };
      if (read !== options.numentries) throw shellErrors.PROBLEMS(1, `${options.numentries} entries were written, ${read} read as they were written`);
      printResult(options, { passed: true, ...facts }, factsText);
    } finally {
      await ledgers.delete(writer.ledgerId);
    }
  });
}

/** How many entries are what was written. */
async function readBack(reader: LedgerReader, payloadOf: (index: number) => Buffer): Promise<number> {
  let equal = 0;
  for (let next = entryId(0); next <= reader.lastAddConfirmed; ) {
    for (const { entryId: id, payload } of await reader.readBatch(next, reader.lastAddConfirmed, readBytesMax)) {
      if (payload.equals(payloadOf(id))) equal++;
      next = entryId(id + 1);
    }
  }
  return equal;
}
