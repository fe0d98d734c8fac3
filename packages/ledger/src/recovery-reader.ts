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
/** On their way at once. */
const chunksAhead = 4;
/** A replica that was asked for a whole chunk is given this long before others are asked, and again when one of those has shown that there is something. */
const chunkGraceMs = 20;

type Found = readonly Buffer[];
const nothing: Found = [];

/** Read ahead from one replica of each entry, spread over bookies. */
interface Chunk {
  readonly number: number;
  readonly first: number;
  readonly last: number;
  readonly found: Promise<Found>;
}

/**
 * The tail of a ledger in recovery, in order. Two kinds of reads: large chunks, several on their way, from one replica each, which are only ever taken as "here it is";
 * and of one entry from all its replicas, which decide whether it is there (recovery-state.ts): where a chunk has no answer, and where the ledger seems to end.
 * Every request fences (R5).
 */
export class RecoveryReader {
  readonly #d: RecoveryReaderDependencies;
  readonly #ledger: LedgerInRecovery;
  readonly #ensemble: readonly BookieId[];
  /** Ascending, without a gap. */
  #chunks: Chunk[] = [];
  #chunksCount = 0;
  /** The entry after the newest that any bookie has told of: nothing is read ahead from there on, as long as nothing is found there. */
  #expectedEnd = Number.POSITIVE_INFINITY;
  /** Begun early, as the ledger seems to end there. */
  #endVerdict: { readonly entryId: number; readonly verdict: Promise<Found> } | undefined;
  /** Indexes that failed or let us wait: others are preferred. */
  readonly #doubtful = new Set<number>();

  constructor(dependencies: RecoveryReaderDependencies, ledger: LedgerInRecovery) {
    this.#d = dependencies;
    this.#ledger = ledger;
    this.#ensemble = lastSegment(ledger.metadata).ensemble;
  }

  /** A guess where it will end: whether it does is asked meanwhile, not behind all that is about to be written. */
  expectEnd(entryId: EntryId): void {
    this.#expectedEnd = entryId;
    this.#judgeEarly(entryId);
  }

  /** Entries from `first` on that some replica holds, as bytes; none when it is proved that `first` was never acknowledged. */
  async readFrom(first: EntryId): Promise<Found> {
    const chunk = this.#chunkAt(first);
    const found = chunk === undefined ? await this.#verdictAbout(first) : await this.#chunkOrVerdict(first, chunk);
    this.#chunks = this.#chunks.filter((other) => other !== chunk);
    const next = first + found.length;
    if (next > this.#expectedEnd) this.#expectedEnd = Number.POSITIVE_INFINITY;
    // The replica had no more, so this is perhaps the end.
    if (chunk !== undefined && found.length > 0 && next <= chunk.last && this.#endVerdict?.entryId !== next) this.#judgeEarly(next as EntryId);
    return found;
  }

  #judgeEarly(entryId: EntryId): void {
    const verdict = this.#judge(entryId);
    verdict.catch(() => undefined); // Heard by whoever comes to that entry.
    this.#endVerdict = { entryId, verdict };
  }

  #verdictAbout(entryId: EntryId): Promise<Found> {
    return this.#endVerdict?.entryId === entryId ? this.#endVerdict.verdict : this.#judge(entryId);
  }

  /** The other replicas are asked only when the one of the chunk has nothing, or lets us wait. */
  async #chunkOrVerdict(first: EntryId, chunk: Chunk): Promise<Found> {
    const isJudged = this.#endVerdict?.entryId === first;
    const quick = isJudged ? undefined : await within(this.#d.clock, chunkGraceMs, chunk.found);
    if (quick !== undefined && quick.length > 0) return quick;
    const verdict = this.#verdictAbout(first);
    if (quick !== undefined) return verdict;
    const heard = await Promise.race([chunk.found.then(() => 'chunk'), verdict.then(() => 'verdict').catch(() => 'nothing sure')]);
    if (heard === 'verdict') {
      const some = await verdict;
      return some.length === 0 ? some : this.#preferChunk(first, chunk, some);
    }
    const found = await chunk.found;
    return found.length > 0 ? found : verdict;
  }

  /** Some replica showed the first entry: the chunk is probably about to come. */
  async #preferChunk(first: EntryId, chunk: Chunk, some: Found): Promise<Found> {
    const found = await within(this.#d.clock, chunkGraceMs, chunk.found);
    if (found !== undefined) return found.length > some.length ? found : some;
    // From now on others are asked, also for the chunks that are on their way.
    this.#doubtful.add(this.#preferred(first, chunk.number));
    this.#chunks = [];
    return some;
  }

  /** The index that an entry is asked from first; where all bookies hold all entries, the same for all of a chunk, and another one for the next. */
  #preferred(entryId: EntryId, chunkNumber: number): number {
    const { metadata, ledgerId } = this.#ledger;
    const isEverywhere = metadata.ensembleSize === metadata.writeQuorumSize;
    const rank = (index: number) => (this.#doubtful.has(index) ? 10 : 0) + this.#d.bookies.readRank(this.#ensemble[index] as BookieId);
    const turn = isEverywhere ? ledgerId + chunkNumber : entryId;
    const [best] = writeSet(metadata, turn as EntryId).sort((a, b) => rank(a) - rank(b));
    return best as number;
  }

  /** The chunk that begins at `first`, unless the end is expected before; those after it are begun too. */
  #chunkAt(first: EntryId): Chunk | undefined {
    this.#chunks = this.#chunks.filter(({ last }) => last >= first);
    const next = this.#chunks[0]?.first ?? Number.POSITIVE_INFINITY;
    if (first < next && first < this.#expectedEnd) this.#chunks.unshift(this.#newChunk(first, Math.min(next, first + entriesPerChunk) - 1));
    for (
      let from = this.#chunks.at(-1)?.last;
      from !== undefined && this.#chunks.length < chunksAhead && from + 1 < this.#expectedEnd;
      from += entriesPerChunk
    )
      this.#chunks.push(this.#newChunk(from + 1, from + entriesPerChunk));
    const [chunk] = this.#chunks;
    return chunk?.first === first ? chunk : undefined;
  }

  #newChunk(first: number, last: number): Chunk {
    const number = this.#chunksCount++;
    return { number, first, last, found: this.#readChunk(first, last, number) };
  }

  /** Each entry from its preferred replica; as many as follow each other without a gap. */
  async #readChunk(first: number, last: number, number: number): Promise<Found> {
    const byIndex = idsByIndex(this.#ledger.metadata, { first, last }, (id) => this.#preferred(id, number));
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
