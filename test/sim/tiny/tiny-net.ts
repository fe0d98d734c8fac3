import type { BookieId, LedgerMetadata } from '@daybook/proto';
import type { Message } from './tiny-bookie.js';

export interface ProtocolOptions {
  bookiesCount: number;
  ensembleSize: number;
  writeQuorumSize: number;
  ackQuorumSize: number;
  entriesCount: number;
  recoverersCount: number;
  /** Requests that are given up although they may still arrive. */
  timeoutsMax: number;
  /** Bookies that crash and come back without what they had, in limbo: they say "unknown" in place of "not here", and take nothing. */
  amnesiasMax: number;
  /** Deliberate defects. */
  defect?: 'reads do not fence' | 'Qa - 1' | 'Qw - Qa negatives' | 'no compare-and-set' | 'confirms while changing' | 'amnesia without limbo';
}

/** What all parts of the tiny world share: the record, the bookies, messages under way. */
export interface TinyNet {
  readonly options: ProtocolOptions;
  readonly bookies: readonly { readonly id: BookieId; readonly isLimbo: boolean }[];
  record: LedgerMetadata;
  version: number;
  send(message: Message): void;
  /** Undefined: somebody else changed the record. */
  write(metadata: LedgerMetadata, expected: number): number | undefined;
  violate(text: string): void;
}

export interface Choice {
  readonly text: () => string;
  readonly run: () => void;
}

/** In which segments a bookie stands. */
export function placesIn(record: LedgerMetadata | undefined, bookieId: BookieId): string {
  if (record === undefined) return '';
  let places = placesOf.get(record);
  if (places === undefined) {
    places = new Map();
    placesOf.set(record, places);
  }
  let text = places.get(bookieId);
  if (text === undefined) {
    text = record.segments.map(({ firstEntryId, ensemble }) => (ensemble.includes(bookieId) ? firstEntryId : '')).join(',');
    places.set(bookieId, text);
  }
  return text;
}

const placesOf = new WeakMap<LedgerMetadata, Map<BookieId, string>>();
