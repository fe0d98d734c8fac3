import type { VersionedLedger } from '@daybook/metadata';
import {
  type BookieCode,
  type BookieId,
  createDigest,
  type EntryId,
  isNegative,
  type LedgerId,
  type LedgerMetadata,
  type ReadReply,
} from '@daybook/proto';
import { below, type Random } from '@daybook/runtime';
import type { BookiePool } from '../bookie-pool.js';
import { verifiedEntries } from '../read-op.js';
import { type EntryRun, OwnEntries, ownCount, ownCountOf, runsHave, runsWith, runsWithout } from './entry-runs.js';

/**
 * What is wrong with one place in an ensemble.
 * - `gone`: its bookie is lost or has to go; nothing was asked.
 * - `lacking`: it says that it does not have `missing`. - `damaged`: some of `missing` is there and cannot be read.
 * - `in-limbo`: it may have forgotten what it had of a part that is still written to. - `unknown`: it could not tell, or is away and nobody has said yet that
 * it is lost.
 */
export type MemberState = 'whole' | 'gone' | 'lacking' | 'damaged' | 'in-limbo' | 'unknown';

export interface MemberHealth {
  readonly index: number;
  readonly bookieId: BookieId;
  readonly state: MemberState;
  /** Runs in which the entries it should have and lacks lie (entries of others may lie between them: see {@link OwnEntries}). */
  readonly missing: readonly EntryRun[];
  readonly code: BookieCode | undefined;
  /** It says so itself: of this ledger it may have lost entries. It takes copies where it is, also while it takes nothing else. */
  readonly isInLimbo: boolean;
}

export interface FragmentHealth {
  readonly firstEntryId: EntryId;
  /** firstEntryId - 1 when it is empty. */
  readonly lastEntryId: EntryId;
  readonly ensemble: readonly BookieId[];
  /** Nobody writes to it any more. Of the others (the last one of an open ledger) bookies are only asked whether they may have forgotten it. */
  readonly isClosed: boolean;
  readonly members: readonly MemberHealth[];
}

export interface LedgerHealth {
  readonly ledgerId: LedgerId;
  readonly stored: VersionedLedger;
  readonly fragments: readonly FragmentHealth[];
}

/** What is known of a bookie before it is asked: `gone` counts as lost, `away` and `silent` as not known. */
export type Presence = 'up' | 'gone' | 'away' | 'silent';

export interface CheckOptions {
  presence: (bookieId: BookieId) => Presence;
  /**
   * Entries that are also read and verified: the first and the last that a member has of a fragment, and this share of the rest (100: all). Undefined: it is
   * enough that the bookie lists them.
   */
  readPercent?: number | undefined;
}

export interface CheckDependencies {
  bookies: BookiePool;
  random: Random;
}

const readBytesMax = 1024 * 1024;
const readEntriesMax = 1_000;

/** Compares what each bookie has of a ledger with what it should have. */
export async function checkLedger(
  dependencies: CheckDependencies,
  ledger: { ledgerId: LedgerId; stored: VersionedLedger },
  options: CheckOptions,
): Promise<LedgerHealth> {
  const check = new LedgerCheck(dependencies, ledger, options);
  return { ...ledger, fragments: await Promise.all(fragmentsOf(ledger.stored.metadata).map((fragment) => check.fragment(fragment))) };
}

type Fragment = Omit<FragmentHealth, 'members'>;

/** The runs of entries of a ledger; that of the last segment of an open one has no end yet, and is shown as empty. */
export function fragmentsOf(metadata: LedgerMetadata): Fragment[] {
  const isClosed = metadata.state === 'CLOSED';
  return metadata.segments.map(({ firstEntryId, ensemble }, i) => {
    const next = metadata.segments[i + 1];
    const end = next === undefined ? (isClosed ? metadata.lastEntryId : firstEntryId - 1) : next.firstEntryId - 1;
    // The last segment of a closed ledger may begin behind its end.
    return { firstEntryId, lastEntryId: Math.max(end, firstEntryId - 1) as EntryId, ensemble, isClosed: isClosed || next !== undefined };
  });
}

interface Held {
  readonly code: BookieCode;
  readonly runs: readonly EntryRun[];
}

class LedgerCheck {
  readonly #d: CheckDependencies;
  readonly #ledgerId: LedgerId;
  readonly #metadata: LedgerMetadata;
  readonly #options: CheckOptions;
  /** Each bookie is asked once for the whole ledger. */
  readonly #held = new Map<BookieId, Promise<Held>>();

  constructor(dependencies: CheckDependencies, { ledgerId, stored }: { ledgerId: LedgerId; stored: VersionedLedger }, options: CheckOptions) {
    this.#d = dependencies;
    this.#ledgerId = ledgerId;
    this.#metadata = stored.metadata;
    this.#options = options;
  }

  async fragment(fragment: Fragment): Promise<FragmentHealth> {
    const members = await Promise.all(fragment.ensemble.map((bookieId, index) => this.#member(fragment, index, bookieId)));
    return { ...fragment, members };
  }

  async #member(fragment: Fragment, index: number, bookieId: BookieId): Promise<MemberHealth> {
    const whole = { first: fragment.firstEntryId, last: fragment.lastEntryId };
    let isInLimbo = false;
    const health = (state: MemberState, missing: readonly EntryRun[] = [], code?: BookieCode): MemberHealth => {
      return { index, bookieId, state, missing, code, isInLimbo };
    };
    const presence = this.#options.presence(bookieId);
    if (presence === 'gone') return health('gone', [whole]);
    if (presence !== 'up') return health('unknown', [], 'UNAVAILABLE');
    if (fragment.isClosed && ownCount(this.#metadata, index, whole) === 0) return health('whole');
    const { code, runs } = await this.#listed(bookieId);
    // It lists what it has; of the rest it says nothing, and nobody asks whether it ever had it: it is copied.
    isInLimbo = code === 'UNKNOWN_LEDGER_STATE';
    if (!fragment.isClosed) return health(isInLimbo ? 'in-limbo' : 'whole');
    if (code !== 'OK' && !isNegative(code) && !isInLimbo) return health('unknown', [], code);
    const gaps = runsWithout(whole, runs).filter((gap) => ownCount(this.#metadata, index, gap) > 0);
    const listed = health(gaps.length > 0 ? 'lacking' : 'whole', gaps);
    return this.#options.readPercent === undefined ? listed : this.#verified(whole, listed);
  }

  #listed(bookieId: BookieId): Promise<Held> {
    let held = this.#held.get(bookieId);
    if (held === undefined) {
      held = this.#list(bookieId);
      this.#held.set(bookieId, held);
    }
    return held;
  }

  async #list(bookieId: BookieId): Promise<Held> {
    const { bookies } = this.#d;
    const bookie = bookies.get(bookieId);
    if (bookie === undefined) return { code: 'UNAVAILABLE', runs: [] };
    const reply = await bookie.service.listEntries(this.#ledgerId);
    bookies.report(bookieId, reply.code);
    return reply;
  }

  /** Reads some of what the bookie lists. */
  async #verified(whole: EntryRun, listed: MemberHealth): Promise<MemberHealth> {
    if (this.#metadata.namesNoDigest === true) return listed;
    const ids = this.#sample(whole, listed);
    const bad: number[] = [];
    let isDamaged = false;
    let silence: BookieCode | undefined;
    for (let place = 0; place < ids.length && silence === undefined; ) {
      const { code, goodCount } = await this.#read(listed.bookieId, ids.slice(place, place + readEntriesMax));
      place += goodCount;
      if (goodCount > 0) continue;
      // Something about the bookie, and not about this entry: what was found so far has to do.
      if (code !== 'OK' && code !== 'IO_ERROR' && !isNegative(code)) silence = code;
      else {
        isDamaged ||= !isNegative(code);
        bad.push(ids[place++] as number);
      }
    }
    if (bad.length === 0) return silence === undefined || listed.state === 'lacking' ? listed : { ...listed, state: 'unknown', code: silence };
    return { ...listed, state: isDamaged ? 'damaged' : 'lacking', missing: runsWith(listed.missing, bad) };
  }

  async #read(bookieId: BookieId, entryIds: readonly EntryId[]): Promise<{ code: BookieCode; goodCount: number }> {
    const { bookies } = this.#d;
    const bookie = bookies.get(bookieId);
    if (bookie === undefined) return { code: 'UNAVAILABLE', goodCount: 0 };
    const reply: ReadReply = await bookie.service.read({ ledgerId: this.#ledgerId, entryIds, bytesMax: readBytesMax });
    bookies.report(bookieId, reply.code);
    if (reply.code !== 'OK') return { code: reply.code, goodCount: 0 };
    const digest = createDigest(this.#metadata.digestType, this.#metadata.password);
    return { code: 'OK', goodCount: verifiedEntries(reply.entries, entryIds, { ledgerId: this.#ledgerId, digest }).length };
  }

  #sample(whole: EntryRun, { index, missing }: MemberHealth): EntryId[] {
    const percent = this.#options.readPercent ?? 0;
    const own = new OwnEntries(this.#metadata, index, [whole]);
    const ids: EntryId[] = [];
    let last: EntryId | undefined;
    for (let some = own.take(readEntriesMax); some.length > 0; some = own.take(readEntriesMax)) {
      for (const id of some) {
        if (runsHave(missing, id)) continue;
        if (last === undefined || (percent > 0 && below(this.#d.random, 100) < percent)) ids.push(id);
        last = id;
      }
    }
    if (last !== undefined && ids.at(-1) !== last) ids.push(last);
    return ids;
  }
}

/** Members with something to repair; of a fragment that is still written to: those that its writer should replace. */
export function badMembers({ members }: FragmentHealth): MemberHealth[] {
  return members.filter(({ state }) => state !== 'whole' && state !== 'unknown');
}

/** Copies that are missing, in entries: for people and metrics. */
export function missingCount({ stored }: LedgerHealth, member: MemberHealth): number {
  return ownCountOf(stored.metadata, member.index, member.missing);
}
