import { decodeAppendBatch } from '@daybook/proto';
import { DaybookError, diskErrors } from '@daybook/runtime';
import { bookieErrors } from './errors.js';
import { decodeFence, decodeLacRecord, recordTypes } from './journal/journal-format.js';
import type { JournalMarks } from './journal/journal-mark.js';
import type { ReplayedRecord } from './journal/replay.js';
import type { Lacs } from './lacs.js';
import type { LedgerStorage } from './storage/ledger-storage.js';

export interface Replay {
  onRecord(record: ReplayedRecord): Promise<void> | void;
  /** Flushes the rest. False when the disk is too full for it: then it stays in the write cache. */
  finish(): Promise<boolean>;
  readonly records: number;
  readonly bytes: number;
}

/**
 * Puts journal records into the storage, as they were put there the first time; when the write cache is full, flushes and goes on; on a full
 * disk it takes what is left beyond its bound, as a bookie must come up there, too. `from` is where the replay begins: a flush in the middle moves no mark.
 */
export function replayInto(storage: LedgerStorage, from: JournalMarks, lacs: Lacs): Replay {
  let records = 0;
  let bytes = 0;
  let isFull = false;
  const flush = async (): Promise<void> => {
    try {
      await storage.flush(from, { mayIdle: true });
    } catch (error) {
      if (!diskErrors.FULL.is(error)) throw error;
      isFull = true;
    }
  };
  const add = (ledgerId: number, masterKey: Buffer, body: Buffer): void => {
    if (!storage.states.has(ledgerId)) storage.states.create(ledgerId, masterKey);
    storage.add(ledgerId, body, { mayExceed: isFull });
  };
  const onRecord = ({ type, body, path, offset }: ReplayedRecord): Promise<void> | void => {
    records++;
    bytes += body.length;
    if (type === recordTypes.appendBatch) {
      const batch = decodeReplayed(body, path, offset);
      if (isFull || storage.hasRoomFor(body.length)) return add(batch.ledgerId, batch.masterKey(), body);
      return flush().then(() => add(batch.ledgerId, batch.masterKey(), body));
    }
    const lac = type === recordTypes.explicitLac ? decodeLacRecord(body) : undefined;
    if (lac !== undefined) return storage.states.has(lac.ledgerId) ? lacs.setExplicitLac(lac.ledgerId, lac.explicitLac) : undefined;
    const fence = type === recordTypes.fence ? decodeFence(body) : undefined;
    if (fence === undefined) throw bookieErrors.JOURNAL_CORRUPT(path, offset, `a record of unknown type ${type} or content`);
    if (!storage.states.has(fence.ledgerId)) storage.states.create(fence.ledgerId, fence.masterKey);
    storage.states.setFenced(fence.ledgerId);
    return undefined;
  };
  return {
    onRecord,
    finish: async () => {
      isFull = false;
      await flush();
      // That was the half that found no room before.
      if (!isFull && storage.isDirty) await flush();
      return !isFull;
    },
    get records() {
      return records;
    },
    get bytes() {
      return bytes;
    },
  };
}

function decodeReplayed(body: Buffer, path: string, offset: number) {
  try {
    return decodeAppendBatch(body);
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    throw bookieErrors.JOURNAL_CORRUPT(path, offset, error.message, { cause: error });
  }
}
