import type { EntryId } from '@daybook/proto';

export interface RangeRead<Entry> {
  readonly first: EntryId;
  readonly last: EntryId;
  /** What an entry of this ledger has on average; undefined when nobody knows yet. */
  readonly entryBytes: number | undefined;
  /** Of one request. */
  readonly batchBytes: number;
  /** Of all requests that are on their way. */
  readonly aheadBytes: number;
  /** At least the first entry of the range, at most all of it. `number` counts the requests of this range. */
  readPart(first: EntryId, last: EntryId, number: number): Promise<readonly Entry[]>;
}

/** A request is worth its price from about this size on; smaller ones only to have several on their way. */
const batchBytesMin = 192 * 1024;
/** A range is cut into so many parts, if they are large enough. */
const partsWanted = 4;

/**
 * All entries of a range, in order, with several requests on their way at once: while one reply is decoded the bookie is at work on the next. Fails with the
 * first error, after all that was on its way has ended.
 */
export async function readRange<Entry>(range: RangeRead<Entry>): Promise<Entry[]> {
  const { first, last } = range;
  const count = last - first + 1;
  if (range.entryBytes === undefined) {
    const begun = await range.readPart(first, last, 0);
    return begun.length === count ? [...begun] : [...begun, ...(await readParts({ ...range, first: (first + begun.length) as EntryId }))];
  }
  return readParts(range);
}

async function readParts<Entry>(range: RangeRead<Entry>): Promise<Entry[]> {
  const { first, last, aheadBytes } = range;
  const entryBytes = Math.max(1, range.entryBytes ?? 1024);
  const count = last - first + 1;
  const batchBytes = Math.min(range.batchBytes, Math.max(batchBytesMin, (count * entryBytes) / partsWanted));
  const partLength = Math.max(1, Math.ceil(batchBytes / entryBytes));
  const partsCount = Math.ceil(count / partLength);
  if (partsCount === 1) return readPart(range, first, last, 0);
  const parts: Entry[][] = [];
  let next = 0;
  let error: { readonly cause: unknown } | undefined;
  const work = async (): Promise<void> => {
    while (next < partsCount && error === undefined) {
      const number = next++;
      const from = first + number * partLength;
      try {
        parts[number] = await readPart(range, from as EntryId, Math.min(last, from + partLength - 1) as EntryId, number);
      } catch (cause) {
        error ??= { cause };
      }
    }
  };
  const workersCount = Math.max(1, Math.min(partsCount, Math.floor(aheadBytes / batchBytes)));
  await Promise.all(Array.from({ length: workersCount }, work));
  if (error !== undefined) throw error.cause;
  return parts.flat();
}

/** One part may take more than one request, when its entries are larger than expected. */
async function readPart<Entry>(range: RangeRead<Entry>, first: EntryId, last: EntryId, number: number): Promise<Entry[]> {
  const entries = [...(await range.readPart(first, last, number))];
  while (first + entries.length <= last) entries.push(...(await range.readPart((first + entries.length) as EntryId, last, number)));
  return entries;
}
