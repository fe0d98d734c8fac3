import { type LedgerReader, ledgerErrors } from '@daybook/ledger';
import { comparePositions, type LedgerId, type ManagedCursorInfo, type MessageRange, type Position, protoErrors } from '@daybook/proto';
import { AckSet } from './ack-set.js';
import type { LogContext } from './context.js';
import { type AckWord, type CursorStatePart, decodeCursorStatePart } from './cursor-state-format.js';
import { managedLedgerErrors } from './errors.js';
import type { LedgerChain } from './ledger-chain.js';
import { noPassword } from './ledger-switch.js';

export interface RecoveredCursor {
  readonly acks: AckSet;
  readonly properties: Map<string, bigint>;
}

interface Stored {
  readonly markDelete: Position | undefined;
  readonly ranges: readonly MessageRange[];
  readonly words: readonly AckWord[];
  readonly properties: ManagedCursorInfo['properties'];
}

/**
 * What a cursor had acknowledged. Its ledger is recovered first, which fences whoever still writes to it. A ledger that is gone, empty or unreadable for
 * good gives the older position of the record: messages come again, none is lost. A failure that may pass rejects: never "start at 0".
 */
export async function recoverCursor(
  context: Pick<LogContext, 'ledgers' | 'logger'>,
  cursor: {
    log: string;
    name: string;
    info: ManagedCursorInfo;
    chain: LedgerChain;
    /** Reads the record again. */
    current?(): Promise<ManagedCursorInfo | undefined>;
  },
): Promise<RecoveredCursor> {
  const stored = await readState(context, cursor);
  return { acks: restored(stored, cursor.chain), properties: new Map(stored.properties.map(({ name, value }) => [name, value])) };
}

async function readState(context: Pick<LogContext, 'ledgers' | 'logger'>, cursor: Parameters<typeof recoverCursor>[1]): Promise<Stored> {
  for (let { info } = cursor; ; ) {
    const { cursorLedgerId: ledgerId } = info;
    const inline: Stored = { markDelete: info.markDelete, ranges: info.individuallyDeleted, words: [], properties: info.properties };
    if (ledgerId === undefined) return inline;
    const found = await readCursorLedger(context, ledgerId);
    if (typeof found !== 'string') return found;
    // Whoever had the log before may have moved on to another ledger since the record was read, and deleted this one.
    const now = await cursor.current?.();
    if (now === undefined || now.cursorLedgerId === ledgerId) {
      const { log, name } = cursor;
      context.logger.warn({ log, cursor: name, ledgerId }, `a cursor goes back to an older position, messages come again: ${found}`);
      return inline;
    }
    info = now;
  }
}

/** The state as acknowledgements; a mark in a ledger that is gone counts from what follows. */
function restored(stored: Stored, chain: LedgerChain): AckSet {
  const newest = chain.newest();
  let mark = stored.markDelete ?? chain.beforeFirst;
  // A mark is never beyond what was confirmed; should it be, nothing that comes later is acknowledged.
  if (comparePositions(mark, newest) > 0) mark = newest;
  const acks = new AckSet(chain, mark);
  for (const range of stored.ranges) restoreRange(acks, range, chain);
  for (const { ledgerId, wordIndex, word } of stored.words) {
    const entries = chain.get(ledgerId)?.entries ?? 0;
    const known = entries - wordIndex * 32;
    if (known > 0) acks.restoreWord(ledgerId, wordIndex, known >= 32 ? word : word & ((1 << known) - 1));
  }
  acks.settle();
  return acks;
}

/** A range may lie across ledgers. */
function restoreRange(acks: AckSet, range: MessageRange, chain: LedgerChain): void {
  let at = chain.next(range.lower);
  while (chain.has(at) && comparePositions(at, range.upper) <= 0) {
    const entries = chain.get(at.ledgerId)?.entries ?? 0;
    const last = at.ledgerId === range.upper.ledgerId ? Math.min(range.upper.entryId, entries - 1) : entries - 1;
    acks.restoreRange(at.ledgerId, at.entryId, last);
    at = chain.next({ ledgerId: at.ledgerId, entryId: (entries - 1) as Position['entryId'] });
  }
}

/** The newest state in a cursor's ledger; a text when there is none for good. */
async function readCursorLedger(context: Pick<LogContext, 'ledgers'>, ledgerId: LedgerId): Promise<Stored | string> {
  let reader: LedgerReader;
  try {
    reader = await context.ledgers.openWithRecovery(ledgerId, { password: noPassword });
  } catch (error) {
    if (!isForGood(error)) throw error;
    return (error as Error).message;
  }
  try {
    // From the end to the front: the newest state that is whole counts.
    for (let last = reader.lastAddConfirmed as number; last >= 0; ) {
      const parts = await readParts(reader, last);
      if (parts.isWhole) return joinParts(parts.read);
      last -= parts.read.length;
    }
    return 'its ledger holds no state';
  } catch (error) {
    if (!isForGood(error)) throw error;
    return (error as Error).message;
  } finally {
    await reader.close();
  }
}

/** The parts that end with entry `last`; not whole when the rest of them never came. */
async function readParts(reader: LedgerReader, last: number): Promise<{ read: CursorStatePart[]; isWhole: boolean }> {
  const end = await readPart(reader, last);
  const read = [end];
  for (let part = end.part - 1; part >= 0; part--) {
    const entry = last - read.length;
    const found = entry < 0 ? undefined : await readPart(reader, entry);
    if (found?.part !== part || found.partsCount !== end.partsCount) return { read, isWhole: false };
    read.unshift(found);
  }
  return { read, isWhole: end.part === end.partsCount - 1 };
}

async function readPart(reader: LedgerReader, entry: number): Promise<CursorStatePart> {
  const id = entry as Position['entryId'];
  const [found] = await reader.read(id, id);
  if (found === undefined) throw ledgerErrors.READ_FAILED(reader.ledgerId, entry, 'nothing came back');
  return decodeCursorStatePart(found.payload);
}

function joinParts(parts: readonly CursorStatePart[]): Stored {
  const { markDelete, properties } = (parts[0] as CursorStatePart).state;
  return {
    markDelete,
    properties,
    ranges: parts.flatMap((part) => part.state.individuallyDeleted),
    words: parts.flatMap((part) => part.words),
  };
}

/** It will be the same the next time. Everything else may pass. */
function isForGood(error: unknown): boolean {
  return (
    ledgerErrors.NOT_FOUND.is(error) ||
    ledgerErrors.NO_SUCH_ENTRY.is(error) ||
    managedLedgerErrors.BAD_CURSOR_STATE.is(error) ||
    protoErrors.MANAGED_LEDGER_MALFORMED.is(error)
  );
}
