/**
 * Ids are branded so that they cannot be mixed up. Inside they are numbers below 2^53, checked once where bytes or text are decoded;
 * outside (message ids, JSON) they are 64-bit and pass through bigint.
 */
declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

/** A ledger's number; never used twice in a cluster. */
export type LedgerId = Branded<number, 'LedgerId'>;
/** An entry's number in its ledger, from 0; -1 stands for "none". */
export type EntryId = Branded<number, 'EntryId'>;
/** A bookie's name: stable for the life of its disks, never an address. Letters, digits and `. _ : -`. */
export type BookieId = Branded<string, 'BookieId'>;

export const noEntry = -1 as EntryId;

/** A place in a chain of ledgers; compare with {@link comparePositions}. An entry id of -1 is "before the first entry of that ledger". */
export interface Position {
  readonly ledgerId: LedgerId;
  readonly entryId: EntryId;
}

export function ledgerId(value: number | bigint): LedgerId {
  const id = Number(value);
  if (!Number.isSafeInteger(id) || id < 0) throw new RangeError(`a ledger id is an integer from 0 to 2^53-1, not ${value}`);
  return id as LedgerId;
}

export function entryId(value: number | bigint): EntryId {
  const id = Number(value);
  if (!Number.isSafeInteger(id) || id < -1) throw new RangeError(`an entry id is an integer from -1 to 2^53-1, not ${value}`);
  return id as EntryId;
}

const bookieIdPattern = /^[A-Za-z0-9._:-]+$/;

export function bookieId(text: string): BookieId {
  // It is a part of paths, beside "readonly".
  if (!bookieIdPattern.test(text) || /^(readonly|\.\.?)$/i.test(text)) {
    throw new RangeError(`a bookie id consists of letters, digits and . _ : - (not just "readonly" or dots), not "${text}"`);
  }
  return text as BookieId;
}

/** Undefined when it is none: a key among others in the metadata. */
export function asBookieId(text: string): BookieId | undefined {
  try {
    return bookieId(text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  }
}

export function comparePositions(a: Position, b: Position): number {
  return a.ledgerId - b.ledgerId || a.entryId - b.entryId;
}
