import { isUtf8 } from 'node:buffer';
import { createInterface } from 'node:readline';
import type { LedgerReader, LedgerWriter } from '@daybook/ledger';
import type { BookieRegistry } from '@daybook/metadata';
import { type DigestType, type EntryId, entryId, type LedgerMetadata, ledgerId } from '@daybook/proto';
import { cliErrors } from '../errors.js';
import { type LedgerSession, withLedgers } from './ledger-session.js';

export interface LedgerOptions {
  metadata?: string;
}

interface PasswordOptions extends LedgerOptions {
  password: string;
}

export interface CreateOptions extends PasswordOptions {
  ensemble: number;
  writeQuorum: number;
  ackQuorum: number;
  digest: DigestType;
  property: Record<string, string>;
  close?: boolean;
}

export interface AppendOptions extends CreateOptions {
  message?: string[];
  quiet?: boolean;
}

export interface ReadOptions extends PasswordOptions {
  first: number;
  last?: number;
  recover?: boolean;
  json?: boolean;
}

export interface InfoOptions extends PasswordOptions {
  json?: boolean;
}

const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const inSession = <T>({ metadata }: LedgerOptions, task: (session: LedgerSession) => Promise<T>): Promise<T> => withLedgers({ metadata }, task);

export function create(options: CreateOptions): Promise<void> {
  return inSession(options, async (session) => {
    const writer = await newLedger(session, options);
    if (options.close) await writer.close();
    print(String(writer.ledgerId));
  });
}

export function append(givenLedger: string | undefined, options: AppendOptions): Promise<void> {
  if (givenLedger !== undefined) {
    throw cliErrors.USAGE(
      `ledger ${givenLedger} cannot be appended to: a ledger has one writer, the process that created it. Leave the id out to write a new ledger`,
    );
  }
  return inSession(options, async (session) => {
    const writer = await newLedger(session, options);
    print(`ledger ${writer.ledgerId}`);
    await appendAll(writer, options.message ?? createInterface({ input: process.stdin }), options.quiet === true);
    if (options.close) {
      const { lastEntryId, length } = await writer.close();
      print(`closed: last entry ${lastEntryId}, ${length} bytes`);
    }
  });
}

/** How many appends are under way before their answers are waited for. */
const unansweredMax = 1_000;

async function appendAll(writer: LedgerWriter, texts: Iterable<string> | AsyncIterable<string>, isQuiet: boolean): Promise<void> {
  let underWay: Promise<EntryId>[] = [];
  const settle = async (): Promise<void> => {
    const ids = await Promise.all(underWay);
    underWay = [];
    if (!isQuiet) for (const id of ids) print(String(id));
  };
  for await (const text of texts) {
    underWay.push(writer.append(Buffer.from(text)));
    if (underWay.length >= unansweredMax) await settle();
  }
  await settle();
}

export function read(id: number, options: ReadOptions): Promise<void> {
  return inSession(options, async ({ ledgers }) => {
    const access = { password: Buffer.from(options.password) };
    const reader = await (options.recover ? ledgers.openWithRecovery(ledgerId(id), access) : ledgers.openWithoutRecovery(ledgerId(id), access));
    const last = entryId(options.last ?? reader.lastAddConfirmed);
    if (last < options.first && options.last === undefined) return;
    await printEntries(reader, entryId(options.first), last, options.json === true);
  });
}

const readBytesMax = 1024 * 1024;

async function printEntries(reader: LedgerReader, first: EntryId, last: EntryId, asJson: boolean): Promise<void> {
  for (let next = first; next <= last; ) {
    const entries = await reader.readBatch(next, last, readBytesMax);
    for (const { entryId: id, payload } of entries) {
      print(
        asJson
          ? JSON.stringify({ ledgerId: reader.ledgerId, entryId: id, bytes: payload.length, ...payloadFields(payload) })
          : `${id}\t${payloadText(payload)}`,
      );
      next = entryId(id + 1);
    }
  }
}

function isText(payload: Buffer): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what tells text from bytes.
  return isUtf8(payload) && !/[\u0000-\u0008\u000a-\u001f\u007f]/.test(payload.toString('utf8'));
}

export function payloadText(payload: Buffer): string {
  return isText(payload) ? payload.toString('utf8') : `base64:${payload.toString('base64')}`;
}

function payloadFields(payload: Buffer): { payload: string; text?: string } {
  return { payload: payload.toString('base64'), ...(isText(payload) && { text: payload.toString('utf8') }) };
}

export function info(id: number, options: InfoOptions): Promise<void> {
  return inSession(options, async ({ ledgers, registry }) => {
    const metadata = await ledgers.metadata(ledgerId(id));
    const end = await ledgers.openWithoutRecovery(ledgerId(id), { password: Buffer.from(options.password) }).then(
      (reader) => ({ lastAddConfirmed: reader.lastAddConfirmed }),
      (error: Error) => ({ lastAddConfirmed: undefined, lastAddConfirmedProblem: error.message }),
    );
    const facts = factsOf(id, metadata, registry, end);
    print(options.json ? JSON.stringify(facts) : factsText(facts));
  });
}

function factsOf(
  id: number,
  metadata: LedgerMetadata,
  registry: BookieRegistry,
  end: { lastAddConfirmed: number | undefined; lastAddConfirmedProblem?: string },
) {
  const { ensembleSize, writeQuorumSize, ackQuorumSize, state, digestType, createdAtMs, segments, lastEntryId, length } = metadata;
  const stateOf = (bookie: string): string => {
    const found = registry.list().find(({ bookieId }) => bookieId === bookie);
    if (found === undefined) return 'down';
    return found.isWritable ? 'up' : 'read-only';
  };
  return {
    ledgerId: id,
    state,
    ensembleSize,
    writeQuorumSize,
    ackQuorumSize,
    digestType,
    created: createdAtMs === undefined ? undefined : new Date(createdAtMs).toISOString(),
    ...(state === 'CLOSED' && { lastEntryId, length }),
    ...end,
    customMetadata: Object.fromEntries([...metadata.customMetadata].map(([name, value]) => [name, payloadText(Buffer.from(value))])),
    segments: segments.map(({ firstEntryId, ensemble }) => ({ firstEntryId, ensemble })),
    bookies: Object.fromEntries([...new Set(segments.flatMap(({ ensemble }) => ensemble))].map((bookie) => [bookie, stateOf(bookie)])),
  };
}

function factsText(facts: ReturnType<typeof factsOf>): string {
  const { segments, bookies, customMetadata, ...plain } = facts;
  const lines = Object.entries(plain).filter(([, value]) => value !== undefined);
  lines.push(...Object.entries(customMetadata).map(([name, value]): [string, string] => [`property ${name}`, value]));
  lines.push(...segments.map(({ firstEntryId, ensemble }): [string, string] => [`from entry ${firstEntryId}`, ensemble.join(', ')]));
  lines.push(...Object.entries(bookies).map(([bookie, state]): [string, string] => [`bookie ${bookie}`, state]));
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

export function list(options: LedgerOptions): Promise<void> {
  return inSession(options, async ({ records }) => {
    for await (const id of records.list()) print(String(id));
  });
}

async function newLedger({ ledgers }: LedgerSession, options: CreateOptions): Promise<LedgerWriter> {
  return ledgers.create({
    ensembleSize: options.ensemble,
    writeQuorumSize: options.writeQuorum,
    ackQuorumSize: options.ackQuorum,
    digestType: options.digest,
    password: Buffer.from(options.password),
    customMetadata: new Map(Object.entries(options.property).map(([name, value]) => [name, Buffer.from(value)])),
  });
}
