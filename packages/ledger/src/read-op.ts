import {
  type BookieCode,
  type BookieId,
  type Digest,
  decodeEntry,
  type Entry,
  type EntryId,
  isNegative,
  type LedgerId,
  type LedgerMetadata,
} from '@daybook/proto';
import { type Clock, DaybookError, type Timer } from '@daybook/runtime';
import type { BookiePool } from './bookie-pool.js';
import { idsByIndex, segmentEnd, segmentOf, storesEntry, writeSet } from './distribution.js';
import { ledgerErrors } from './errors.js';
import { distanceElsewhere } from './rack-placement.js';
import { within } from './within.js';

export interface ReadDependencies {
  clock: Clock;
  bookies: BookiePool;
  speculativeReadTimeoutMs: number;
  /** Default true. */
  reorderReadSequenceEnabled?: boolean;
  /** Default true. */
  stickyReadsEnabled?: boolean;
  /** How far away a bookie stands, lower is nearer; default: all alike. */
  distanceTo?: ((bookieId: BookieId) => number) | undefined;
}

export interface ReadRange {
  ledgerId: LedgerId;
  metadata: LedgerMetadata;
  digest: Digest;
  first: EntryId;
  last: EntryId;
  bytesMax: number;
  /** Reads with different numbers begin at different replicas, unless reads are sticky. */
  number?: number;
}

/** What one bookie gave: entries that were proved to be the ones asked for, or why not even the first. */
interface Answer {
  readonly bookieId: BookieId;
  readonly code: BookieCode | 'DIGEST_MISMATCH';
  readonly entries: readonly Entry[];
}

const entriesPerRequestMax = 1_000;

/**
 * Reads a first part of first..last, at least one entry, from the replicas (reference 1.8). Any error and any damaged entry makes the next replica be
 * asked, and so does silence for the speculative delay; the first good answer wins. Rejects with `LEDGER_NO_SUCH_ENTRY` only when every replica of the
 * first entry said so explicitly, else with `LEDGER_READ_FAILED`. Payloads are views into the bookies' replies.
 */
export async function readEntries(dependencies: ReadDependencies, range: ReadRange): Promise<Entry[]> {
  const { metadata, first } = range;
  const last = Math.min(segmentEnd(metadata, first, range.last), first + entriesPerRequestMax - 1);
  const { ensemble } = segmentOf(metadata, first);
  const op = new ReadOp(dependencies, { ...range, last: last as EntryId }, ensemble);
  return metadata.ensembleSize > metadata.writeQuorumSize && last > first ? op.readStriped() : op.readFrom(op.replicaOrder(first));
}

const localTriesMax = 2;
/** Those below answer, as far as is known (`BookiePool.readRank`). */
const healthyRankEnd = 2;

/** When the own region has trouble, another one shall be asked before all of its replicas were tried. */
function withOneRemote(order: readonly number[], rank: (index: number) => number): number[] {
  const isRemote = (index: number) => rank(index) % 10 === distanceElsewhere;
  const place = order.findIndex((index) => isRemote(index) && rank(index) < 10 * healthyRankEnd);
  if (place <= localTriesMax) return [...order];
  const remote = order[place] as number;
  return [...order.slice(0, localTriesMax), remote, ...order.slice(localTriesMax).filter((index) => index !== remote)];
}

class ReadOp {
  readonly #d: ReadDependencies;
  readonly #range: ReadRange;
  readonly #ensemble: readonly BookieId[];

  constructor(dependencies: ReadDependencies, range: ReadRange, ensemble: readonly BookieId[]) {
    this.#d = dependencies;
    this.#range = range;
    this.#ensemble = ensemble;
  }

  /**
   * The entry's replicas, the preferred first. Where all bookies hold all entries, ledgers begin at different ones, and each ledger stays with one (sticky); a
   * replica that fails or is slow goes behind the others, among equals the nearest is first: after two of the own region one of another.
   */
  replicaOrder(entryId: EntryId): number[] {
    const { metadata, ledgerId, number = 0 } = this.#range;
    const { bookies, distanceTo, reorderReadSequenceEnabled = true, stickyReadsEnabled = true } = this.#d;
    const isEverywhere = metadata.ensembleSize === metadata.writeQuorumSize;
    const order = writeSet(metadata, isEverywhere ? ((ledgerId + (stickyReadsEnabled ? 0 : entryId + number)) as EntryId) : entryId);
    if (!reorderReadSequenceEnabled) return order;
    const rank = (index: number) => {
      const bookieId = this.#ensemble[index] as BookieId;
      return 10 * bookies.readRank(bookieId) + (distanceTo?.(bookieId) ?? 0);
    };
    order.sort((a, b) => rank(a) - rank(b));
    return distanceTo === undefined ? order : withOneRemote(order, rank);
  }

  /** With more bookies than replicas: every entry from its preferred replica, all those bookies at once. */
  async readStriped(): Promise<Entry[]> {
    const { first, last, bytesMax, metadata } = this.#range;
    const { clock, speculativeReadTimeoutMs } = this.#d;
    const byIndex = idsByIndex(metadata, { first, last }, (id) => this.replicaOrder(id)[0] as number);
    const share = Math.ceil(bytesMax / byIndex.size);
    const answers = await Promise.all([...byIndex].map(([index, ids]) => within(clock, speculativeReadTimeoutMs, this.#ask(index, ids, share))));
    const found = new Map(answers.flatMap((answer) => (answer?.entries ?? []).map((entry) => [entry.entryId, entry])));
    const entries = contiguous(found, first);
    if (entries.length > 0) return entries;
    const [preferred, ...others] = this.replicaOrder(first);
    return this.readFrom([...others, preferred as number]);
  }

  /** One replica after the other until one gives the first entry. */
  readFrom(order: readonly number[]): Promise<Entry[]> {
    const { clock, bookies, speculativeReadTimeoutMs } = this.#d;
    return new Promise((resolve, reject) => {
      const answers: Answer[] = [];
      let nextPlace = 0;
      let isSettled = false;
      let timer: Timer | undefined;
      const askNext = () => {
        timer?.cancel();
        const index = order[nextPlace++];
        if (index === undefined) return;
        if (nextPlace < order.length) {
          timer = clock.after(speculativeReadTimeoutMs, () => {
            bookies.reportSlow(this.#ensemble[index] as BookieId);
            askNext();
          });
        }
        this.#ask(index, this.#idsOf(index), this.#range.bytesMax).then(heard).catch(reject);
      };
      const heard = (answer: Answer) => {
        if (isSettled) return;
        answers.push(answer);
        const isGood = answer.entries.length > 0;
        if (!isGood && answers.length < order.length) return nextPlace < order.length ? askNext() : undefined;
        isSettled = true;
        timer?.cancel();
        if (isGood) resolve(this.#firstPart(answer.entries));
        else reject(this.#failure(answers));
      };
      askNext();
    });
  }

  /** The entries up to the first gap. */
  #firstPart(entries: readonly Entry[]): Entry[] {
    const { first } = this.#range;
    const gap = entries.findIndex(({ entryId }, place) => entryId !== first + place);
    return gap === -1 ? [...entries] : entries.slice(0, gap);
  }

  #idsOf(index: number): EntryId[] {
    const ids: EntryId[] = [];
    for (let id = this.#range.first as number; id <= this.#range.last; id++)
      if (storesEntry(this.#range.metadata, index, id)) ids.push(id as EntryId);
    return ids;
  }

  async #ask(index: number, entryIds: readonly EntryId[], bytesMax: number): Promise<Answer> {
    const bookieId = this.#ensemble[index] as BookieId;
    const bookie = this.#d.bookies.get(bookieId);
    if (bookie === undefined) return { bookieId, code: 'UNAVAILABLE', entries: [] };
    const reply = await bookie.service.read({ ledgerId: this.#range.ledgerId, entryIds, bytesMax });
    this.#d.bookies.report(bookieId, reply.code);
    if (reply.code !== 'OK') return { bookieId, code: reply.code, entries: [] };
    const entries = verifiedEntries(reply.entries, entryIds, this.#range);
    return { bookieId, code: entries.length > 0 ? 'OK' : 'DIGEST_MISMATCH', entries };
  }

  #failure(answers: readonly Answer[]): Error {
    const { ledgerId, first } = this.#range;
    const isAbsent = answers.every(({ code }) => code !== 'DIGEST_MISMATCH' && isNegative(code));
    if (isAbsent) return ledgerErrors.NO_SUCH_ENTRY(ledgerId, first);
    return ledgerErrors.READ_FAILED(ledgerId, first, answers.map(({ bookieId, code }) => `${bookieId}: ${code}`).join(', '));
  }
}

/** The entries of a reply up to the first one that is not what was asked for. */
export function verifiedEntries(bytes: readonly Buffer[], entryIds: readonly EntryId[], ledger: { ledgerId: LedgerId; digest: Digest }): Entry[] {
  const entries: Entry[] = [];
  for (const [place, entryBytes] of bytes.entries()) {
    const entryId = entryIds[place];
    if (entryId === undefined) break;
    try {
      entries.push(decodeEntry(entryBytes, ledger.digest, ledger.ledgerId, entryId));
    } catch (error) {
      if (error instanceof DaybookError) break;
      throw error;
    }
  }
  return entries;
}

function contiguous(found: ReadonlyMap<EntryId, Entry>, first: EntryId): Entry[] {
  const entries: Entry[] = [];
  for (let entry = found.get(first); entry !== undefined; entry = found.get((first + entries.length) as EntryId)) entries.push(entry);
  return entries;
}
