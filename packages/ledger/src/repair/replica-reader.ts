import {
  type BookieCode,
  type BookieId,
  createDigest,
  type Digest,
  type EntryId,
  isNegative,
  type LedgerId,
  type LedgerMetadata,
} from '@daybook/proto';
import type { BookiePool } from '../bookie-pool.js';
import { storesEntry } from '../distribution.js';
import { verifiedEntries } from '../read-op.js';
import { type EntryRun, runsHave } from './entry-runs.js';
import { repairErrors } from './errors.js';

export interface ReplicaSource {
  ledgerId: LedgerId;
  metadata: LedgerMetadata;
  ensemble: readonly BookieId[];
  /** By index: what that member is known not to have (all of it counts as read in vain). */
  missing: readonly (readonly EntryRun[])[];
  /** Of one read, about; a single larger entry is still read. */
  bytesMax: number;
}

type Answer = BookieCode | 'DIGEST_MISMATCH';

/** What is known of one read's way to its entries. */
interface Search {
  readonly found: Map<EntryId, Buffer>;
  /** By entry, then by index: why not from there. */
  readonly failed: Map<EntryId, Map<number, Answer>>;
  /** Members that failed for some entry: others first. */
  readonly doubtful: Set<number>;
  foundBytes: number;
}

/** Reads entries of a fragment as they are on disk, digest and all, each from whichever replica has it whole. */
export class ReplicaReader {
  readonly #bookies: BookiePool;
  readonly #source: ReplicaSource;
  readonly #digest: Digest;

  constructor(bookies: BookiePool, source: ReplicaSource) {
    this.#bookies = bookies;
    this.#source = source;
    this.#digest = createDigest(source.metadata.digestType, source.metadata.password);
  }

  /** The first entries of `ids` (ascending), at least one, in that order. Rejects with `REPAIR_ENTRY_UNREADABLE` when no replica gives the first. */
  async read(ids: readonly EntryId[]): Promise<Buffer[]> {
    const search: Search = { found: new Map(), failed: new Map(), doubtful: new Set(), foundBytes: 0 };
    const { bytesMax } = this.#source;
    for (;;) {
      const open = ids.filter((id) => !search.found.has(id));
      if (open.length === 0) break;
      const isStarted = search.found.has(ids[0] as EntryId);
      if (isStarted && search.foundBytes >= bytesMax) break;
      const groups = this.#groups(open, search, isStarted);
      if (groups.size === 0) break;
      const share = Math.ceil(bytesMax / groups.size);
      await Promise.all([...groups].map(([index, group]) => this.#ask(index, group, share, search)));
    }
    const entries: Buffer[] = [];
    for (const id of ids) {
      const entry = search.found.get(id);
      if (entry === undefined) break;
      entries.push(entry);
    }
    return entries;
  }

  /** Who is asked for which entries next; entries that nobody can give are left out as long as there is something before them. */
  #groups(open: readonly EntryId[], search: Search, isStarted: boolean): Map<number, EntryId[]> {
    const groups = new Map<number, EntryId[]>();
    for (const id of open) {
      const index = this.#sourceOf(id, search);
      if (index === undefined) {
        if (!isStarted && groups.size === 0) throw this.#unreadable(id, search);
        break;
      }
      const group = groups.get(index);
      if (group === undefined) groups.set(index, [id]);
      else group.push(id);
    }
    return groups;
  }

  #sourceOf(id: EntryId, search: Search): number | undefined {
    const { metadata, ensemble, ledgerId } = this.#source;
    const failed = search.failed.get(id);
    let best: number | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (let i = 0; i < ensemble.length; i++) {
      // Ledgers begin at different members, so that not all of them read from the same one.
      const index = (i + ledgerId) % ensemble.length;
      if (!storesEntry(metadata, index, id) || failed?.has(index) === true) continue;
      if (runsHave(this.#source.missing[index] ?? [], id)) continue;
      const rank = this.#bookies.readRank(ensemble[index] as BookieId) + (search.doubtful.has(index) ? 10 : 0);
      if (rank >= bestRank) continue;
      best = index;
      bestRank = rank;
    }
    return best;
  }

  async #ask(index: number, ids: readonly EntryId[], bytesMax: number, search: Search): Promise<void> {
    const { ledgerId, ensemble } = this.#source;
    const bookieId = ensemble[index] as BookieId;
    const bookie = this.#bookies.get(bookieId);
    if (bookie === undefined) return this.#failed(index, ids, 'UNAVAILABLE', search);
    const reply = await bookie.service.read({ ledgerId, entryIds: ids, bytesMax });
    this.#bookies.report(bookieId, reply.code);
    const goodCount = reply.code === 'OK' ? verifiedEntries(reply.entries, ids, { ledgerId, digest: this.#digest }).length : 0;
    for (let i = 0; i < goodCount; i++) {
      const entry = reply.entries[i] as Buffer;
      search.found.set(ids[i] as EntryId, entry);
      search.foundBytes += entry.length;
    }
    if (goodCount === 0) this.#failed(index, ids, reply.code === 'OK' ? 'DIGEST_MISMATCH' : reply.code, search);
  }

  /** A bookie that does not answer fails for all it was asked, any other answer is about the first entry alone. */
  #failed(index: number, ids: readonly EntryId[], answer: Answer, search: Search): void {
    const isAboutEntry = answer === 'DIGEST_MISMATCH' || answer === 'IO_ERROR' || isNegative(answer);
    search.doubtful.add(index);
    for (const id of isAboutEntry ? ids.slice(0, 1) : ids) {
      const failed = search.failed.get(id) ?? new Map<number, Answer>();
      search.failed.set(id, failed.set(index, answer));
    }
  }

  #unreadable(id: EntryId, search: Search): Error {
    const { ledgerId, metadata, ensemble, missing } = this.#source;
    const answers = ensemble.flatMap((bookieId, index) => {
      if (!storesEntry(metadata, index, id)) return [];
      const known: string = runsHave(missing[index] ?? [], id) ? 'missing' : 'not asked';
      return [`${bookieId}: ${search.failed.get(id)?.get(index) ?? known}`];
    });
    return repairErrors.ENTRY_UNREADABLE(ledgerId, id, answers.join(', '));
  }
}
