import type { BookieId, Digest, EntryId, LedgerId, LedgerMetadata, ReadReply } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { BookiePool } from './bookie-pool.js';
import { idsByIndex, lastSegment, storesEntry, writeSet } from './distribution.js';
import { ledgerErrors } from './errors.js';
import { verifiedEntries } from './read-op.js';
import { judgeEntry, type ReplicaAnswer } from './recovery-state.js';
import { within } from './within.js';

export interface RecoveryReaderDependencies {
  clock: Clock;
  bookies: BookiePool;
}

export interface LedgerInRecovery {
  ledgerId: LedgerId;
  /** As it was when recovery began: all reads go by it. */
  metadata: LedgerMetadata;
  digest: Digest;
  masterKey: Buffer;
}

export const bytesPerRecoveryRead = 1024 * 1024;
const entriesPerChunk = 256;
/** What the replicas show along with an entry that is judged: a few small ones that only one of them has need not be judged one by one. */
const entriesPerVerdict = 8;
const bytesPerVerdict = 8 * 1024;
/** Read ahead of what is being judged. */
const chunksAhead = 4;
/** A replica that was asked for a whole chunk is given this long after another one has shown that there is something. */
const chunkGraceMs = 20;

type Found = readonly Buffer[];
const nothing: Found = [];

/**
 * The tail of a ledger in recovery, in order. Two kinds of reads: of the entry that is next, from all its replicas at once, which decide whether it is there
 * (recovery-state.ts); and of what comes after it, in large chunks from one replica each, several on their way, which are only ever taken as "here it is".
 * Every request fences (R5).
 */
export class RecoveryReader {
  readonly #d: RecoveryReaderDependencies;
  readonly #ledger: LedgerInRecovery;
  readonly #ensemble: readonly BookieId[];
  /** By their first entry. */
  readonly #chunks = new Map<number, Promise<Found>>();
  /** Begun early, because a chunk ended there. */
  #endVerdict: { readonly entryId: number; readonly verdict: Promise<Found> } | undefined;
  /** Indexes that failed or let us wait: others are preferred. */
  readonly #doubtful = new Set<number>();

  constructor(dependencies: RecoveryReaderDependencies, ledger: LedgerInRecovery) {
    this.#d = dependencies;
    this.#ledger = ledger;
    this.#ensemble = lastSegment(ledger.metadata).ensemble;
  }

  /** Entries from `first` on that some replica holds, as bytes; none when it is proved that `first` was never acknowledged. */
  async readFrom(first: EntryId): Promise<Found> {
    const chunk = this.#startChunks(first);
    const verdict = this.#verdictAbout(first);
    const heard = await Promise.race([chunk.then(() => 'chunk'), verdict.then(() => 'verdict').catch(() => 'nothing sure')]);
    if (heard === 'verdict') {
      const some = await verdict;
      return some.length === 0 ? some : this.#preferChunk(first, chunk, some);
    }
    const found = await chunk;
    if (found.length > 0 && !this.#chunks.has(first + found.length)) this.#judgeEarly((first + found.length) as EntryId);
    return found.length > 0 ? found : verdict;
  }

  /** The replica had no more, so this is perhaps the end: asked now, not behind all that is about to be written. */
  #judgeEarly(entryId: EntryId): void {
    const verdict = this.#judge(entryId);
    verdict.catch(() => undefined); // Heard by whoever comes to that entry.
    this.#endVerdict = { entryId, verdict };
  }

  #verdictAbout(entryId: EntryId): Promise<Found> {
    return this.#endVerdict?.entryId === entryId ? this.#endVerdict.verdict : this.#judge(entryId);
  }

  /** Some replica showed the first entry: the chunk is probably about to come. */
  async #preferChunk(first: EntryId, chunk: Promise<Found>, some: Found): Promise<Found> {
    const found = await within(this.#d.clock, chunkGraceMs, chunk);
    if (found !== undefined) return found.length > some.length ? found : some;
    // From now on others are asked, also for the chunks that are on their way.
    this.#doubtful.add(this.#preferred(first));
    this.#chunks.clear();
    return some;
  }

  /** The index that an entry is asked from first; where all bookies hold all entries, the same for all of them. */
  #preferred(entryId: EntryId): number {
    const { metadata, ledgerId } = this.#ledger;
    const isEverywhere = metadata.ensembleSize === metadata.writeQuorumSize;
    const rank = (index: number) => (this.#doubtful.has(index) ? 10 : 0) + this.#d.bookies.readRank(this.#ensemble[index] as BookieId);
    const [best] = writeSet(metadata, isEverywhere ? (ledgerId as number as EntryId) : entryId).sort((a, b) => rank(a) - rank(b));
    return best as number;
  }

  /** The chunk that begins at `first`; those after it are begun too. */
  #startChunks(first: EntryId): Promise<Found> {
    for (const known of this.#chunks.keys()) if (known < first) this.#chunks.delete(known);
    let from = first as number;
    for (let i = 0; i < chunksAhead; i++) {
      const next = Math.min(from + entriesPerChunk, ...[...this.#chunks.keys()].filter((known) => known > from));
      if (!this.#chunks.has(from)) this.#chunks.set(from, this.#readChunk(from, next - 1));
      from = next;
    }
    return this.#chunks.get(first) as Promise<Found>;
  }

  /** Each entry from its preferred replica; as many as follow each other without a gap. */
  async #readChunk(first: number, last: number): Promise<Found> {
    const byIndex = idsByIndex(this.#ledger.metadata, { first, last }, (id) => this.#preferred(id));
    const bytesMax = Math.ceil(bytesPerRecoveryRead / byIndex.size);
    const found = new Map<number, Buffer>();
    const parts = [...byIndex].map(async ([index, ids]) => {
      const reply = await this.#ask(index, ids, bytesMax);
      const entries = this.#validPart(reply, ids);
      if (reply.code !== 'OK' && reply.code !== 'NO_ENTRY' && reply.code !== 'NO_LEDGER') this.#doubtful.add(index);
      for (const [place, entry] of entries.entries()) found.set(ids[place] as number, entry);
    });
    await Promise.all(parts);
    const entries: Buffer[] = [];
    for (let entry = found.get(first); entry !== undefined; entry = found.get(first + entries.length)) entries.push(entry);
    return entries;
  }

  /** All replicas of `first` are asked at once, the first valid answer is taken: that entry and perhaps some more, or none for proved absence. */
  #judge(first: EntryId): Promise<Found> {
    const { metadata, ledgerId } = this.#ledger;
    const indexes = writeSet(metadata, first);
    return new Promise((resolve, reject) => {
      const answers: ReplicaAnswer[] = indexes.map(() => 'PENDING');
      let isSettled = false;
      const heard = (place: number, entryIds: readonly EntryId[], reply: ReadReply) => {
        if (isSettled) return;
        const entries = this.#validPart(reply, entryIds);
        answers[place] = reply.code === 'OK' && entries.length === 0 ? 'DAMAGED' : reply.code;
        const verdict = judgeEntry(metadata, answers);
        if (verdict === 'undecided' && reply.code !== 'UNAUTHORIZED') return;
        isSettled = true;
        if (verdict === 'found') resolve(consecutive(entries, entryIds, first));
        else if (verdict === 'absent') resolve(nothing);
        else reject(reply.code === 'UNAUTHORIZED' ? ledgerErrors.UNAUTHORIZED(ledgerId) : this.#unknownEntry(first, indexes, answers));
      };
      for (const [place, index] of indexes.entries()) {
        const entryIds: EntryId[] = [];
        for (let id = first as number; id < first + entriesPerVerdict; id++) if (storesEntry(metadata, index, id)) entryIds.push(id as EntryId);
        this.#ask(index, entryIds, bytesPerVerdict)
          .then((reply) => heard(place, entryIds, reply))
          .catch(reject);
      }
    });
  }

  async #ask(index: number, entryIds: readonly EntryId[], bytesMax: number): Promise<ReadReply> {
    const bookieId = this.#ensemble[index] as BookieId;
    const bookie = this.#d.bookies.get(bookieId);
    if (bookie === undefined) return { code: 'UNAVAILABLE', entries: [] };
    const { ledgerId, masterKey } = this.#ledger;
    const reply = await bookie.service.read({ ledgerId, entryIds, bytesMax, fenceWithKey: masterKey });
    this.#d.bookies.report(bookieId, reply.code);
    return reply;
  }

  /** The entries of a reply up to the first one that is not what was asked for. */
  #validPart(reply: ReadReply, entryIds: readonly EntryId[]): Found {
    return reply.code === 'OK' ? reply.entries.slice(0, verifiedEntries(reply.entries, entryIds, this.#ledger).length) : nothing;
  }

  #unknownEntry(entryId: EntryId, indexes: readonly number[], answers: readonly ReplicaAnswer[]): Error {
    const said = indexes.map((index, place) => `${this.#ensemble[index]}: ${answers[place]}`).join(', ');
    return ledgerErrors.RECOVERY_FAILED(this.#ledger.ledgerId, `too few bookies can tell whether there is an entry ${entryId} (${said})`);
  }
}

/** The entries whose ids follow `first` without a gap. */
function consecutive(entries: Found, entryIds: readonly EntryId[], first: EntryId): Found {
  const gap = entries.findIndex((_, place) => entryIds[place] !== first + place);
  return gap === -1 ? entries : entries.slice(0, gap);
}
