import { connectGrpcBookie } from '@daybook/ledger/grpc';
import { type BookieService, createDigest, decodeEntry, type EntryId, type LedgerId, type LedgerMetadata } from '@daybook/proto';
import { RealClock } from '@daybook/runtime/real';
import { contentOf } from '../contents.js';
import type { View } from '../lose-bookie.js';
import type { ChaosBookie } from './chaos-cluster.js';
import { chaosPassword } from './shared.js';

/**
 * Looks at bookies one by one, past proxies and past the ledger client, and works out by itself which of them must have an entry: member `x` of an ensemble of E has
 * entry `e` when `(x - e) mod E < Qw`.
 */
export class Copies {
  readonly #view: View;
  readonly #bookies: readonly ChaosBookie[];
  readonly #clock = new RealClock();
  readonly #connections = new Map<string, { incarnation: string; service: BookieService; close(): void }>();
  readonly #digest = createDigest('CRC32C', chaosPassword);

  constructor(view: View, bookies: readonly ChaosBookie[]) {
    this.#view = view;
    this.#bookies = bookies;
  }

  close(): void {
    for (const { close } of this.#connections.values()) close();
    this.#connections.clear();
  }

  /** Entries that a member of an ensemble should have and does not, as far as their end is known: those of the last segment of an open ledger are left out. */
  async holes(ledgerIds: readonly LedgerId[]): Promise<string[]> {
    const holes: string[] = [];
    for (const ledgerId of ledgerIds) {
      const metadata = (await this.#view.records.read(ledgerId))?.metadata;
      if (metadata === undefined) continue;
      const held = new Map<string, (entryId: number) => boolean>();
      for (const { bookieId, index, first, last } of placesOf(metadata)) {
        const has = held.get(bookieId) ?? (await this.#held(ledgerId, bookieId));
        held.set(bookieId, has);
        const missing = range(first, last).find((entryId) => storesEntry(metadata, index, entryId) && !has(entryId));
        if (missing !== undefined) holes.push(`ledger ${ledgerId}: ${bookieId} lacks entry ${missing}`);
      }
    }
    return holes;
  }

  /** Reads every copy of every entry of a closed ledger from the very bookie. */
  async compare(ledgerId: LedgerId, metadata: LedgerMetadata): Promise<{ problems: string[]; copies: number }> {
    const problems: string[] = [];
    let copies = 0;
    for (const { bookieId, index, first, last } of placesOf(metadata)) {
      const entryIds = range(first, last).filter((entryId) => storesEntry(metadata, index, entryId)) as EntryId[];
      const service = this.#service(bookieId);
      for (let next = 0; next < entryIds.length; ) {
        const wanted = entryIds.slice(next, next + 500);
        const reply = await service?.read({ ledgerId, entryIds: wanted, bytesMax: 1 << 20 });
        if (reply?.code !== 'OK') {
          problems.push(`ledger ${ledgerId}: entry ${wanted[0]} of ${bookieId} answers ${reply?.code ?? 'nothing: it is not registered'}`);
          break;
        }
        for (const [i, bytes] of reply.entries.entries()) {
          const entryId = wanted[i] as EntryId;
          const { payload } = decodeEntry(bytes, this.#digest, ledgerId, entryId);
          if (!payload.equals(contentOf(ledgerId, entryId))) problems.push(`ledger ${ledgerId}: entry ${entryId} of ${bookieId} has other bytes`);
        }
        next += reply.entries.length;
        copies += reply.entries.length;
      }
    }
    return { problems, copies };
  }

  async #held(ledgerId: LedgerId, bookieId: string): Promise<(entryId: number) => boolean> {
    const reply = await this.#service(bookieId)?.listEntries(ledgerId);
    // In limbo a bookie cannot tell what it lacks of a ledger, but what it has.
    const runs = reply?.code === 'OK' || reply?.code === 'UNKNOWN_LEDGER_STATE' ? reply.runs : [];
    return (entryId) => runs.some(({ first, last }) => first <= entryId && entryId <= last);
  }

  /** Undefined when it is not registered: it has nothing then. */
  #service(bookieId: string): BookieService | undefined {
    const registered = this.#view.registry.list().find((bookie) => bookie.bookieId === bookieId);
    const port = this.#bookies.find((bookie) => bookie.bookieId === bookieId)?.port;
    if (registered === undefined || port === undefined) return undefined;
    const known = this.#connections.get(bookieId);
    if (known?.incarnation === registered.incarnation) return known.service;
    known?.close();
    const { service, close } = connectGrpcBookie({ ...registered, address: `127.0.0.1:${port}` }, { clock: this.#clock });
    this.#connections.set(bookieId, { incarnation: registered.incarnation, service, close });
    return service;
  }
}

function storesEntry({ ensembleSize, writeQuorumSize }: LedgerMetadata, index: number, entryId: number): boolean {
  return (((index - entryId) % ensembleSize) + ensembleSize) % ensembleSize < writeQuorumSize;
}

interface Place {
  bookieId: string;
  index: number;
  first: number;
  last: number;
}

function placesOf({ segments, state, lastEntryId }: LedgerMetadata): Place[] {
  return segments.flatMap(({ firstEntryId, ensemble }, i) => {
    const next = segments[i + 1];
    const last = next === undefined ? (state === 'CLOSED' ? lastEntryId : firstEntryId - 1) : next.firstEntryId - 1;
    return ensemble.map((bookieId, index) => ({
      bookieId,
      index,
      first: firstEntryId,
      last: state === 'CLOSED' ? Math.min(last, lastEntryId) : last,
    }));
  });
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
}
