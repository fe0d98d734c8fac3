import { type BookieRegistry, type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import { type BookieId, type LedgerId, masterKey } from '@daybook/proto';
import { type Clock, DaybookError, type Logger, type Random } from '@daybook/runtime';
import type { BookiePool } from '../bookie-pool.js';
import type { LedgerClient } from '../ledger-api.js';
import { type EntryRun, OwnEntries, runsWithout } from './entry-runs.js';
import { repairErrors } from './errors.js';
import { copyEntries } from './fragment-copy.js';
import { badMembers, checkLedger, type FragmentHealth, type LedgerHealth, type MemberHealth, type Presence } from './ledger-check.js';
import type { RateLimit } from './rate-limit.js';
import type { RepairPlacement } from './repair-placement.js';
import { ReplicaReader } from './replica-reader.js';
import { storeMemberSwap } from './swap-member.js';

export interface LedgerRepairDependencies {
  clock: Clock;
  random: Random;
  records: LedgerRecords;
  registry: BookieRegistry;
  bookies: BookiePool;
  placement: RepairPlacement;
  /** Closes open ledgers. */
  ledgers: Pick<LedgerClient, 'openWithRecovery'>;
  rate: RateLimit;
  logger: Logger;
}

export interface RepairRequest {
  ledgerId: LedgerId;
  /** Whether a bookie's copies are to be replaced although, or because, ... `gone`: yes; `away`: not registered, but nobody has said that it is lost. */
  presence: (bookieId: BookieId) => Presence;
  /** Never chosen for copies. */
  isAvoided: (bookieId: BookieId) => boolean;
  /** Whether a ledger that is still open, with a bookie gone from its last segment, is closed (its writer is fenced); else the outcome is `open`. */
  closesOpen: boolean;
  readPercent?: number | undefined;
  /** Copies that lie in too few racks or regions are moved, once nothing is missing. */
  movesMisplaced?: boolean;
  /** Nothing is changed any more once it aborts. */
  stop: AbortSignal;
  onCopied?: ((copied: { entries: number; bytes: number }) => void) | undefined;
  /** Where copies went before, by place: a repair that begins again goes on there. */
  targets?: Map<string, BookieId>;
}

export type RepairOutcome =
  /** Every copy is where it should be; `isChanged`: thanks to this repair. */
  | { outcome: 'whole'; isChanged: boolean }
  | { outcome: 'deleted' }
  /** Closed parts are whole; bookies are missing from the part that is still written, or may have forgotten it. */
  | { outcome: 'open'; missing: readonly BookieId[]; hasSpare: boolean; problem: DaybookError }
  | { outcome: 'failed'; problems: readonly DaybookError[] };

/** Who may take the place of a member, the best first; not who is `taken` for another one. */
interface MemberPlan {
  readonly member: MemberHealth;
  readonly targets: readonly BookieId[];
  readonly taken: Set<BookieId>;
}

/** A repair may uncover what could not be seen before: a copy that is damaged again, a record that others changed. */
const passesMax = 6;
const readBytesMax = 1024 * 1024;
const entriesPerReadMax = 1_000;

/** Brings every closed part of a ledger back to its number of copies. The caller holds the ledger's lock. */
export async function repairLedger(dependencies: LedgerRepairDependencies, request: RepairRequest): Promise<RepairOutcome> {
  return new LedgerRepair(dependencies, request).run();
}

class LedgerRepair {
  readonly #d: LedgerRepairDependencies;
  readonly #request: RepairRequest;
  /** Places that were filled up where they are, in vain or not: the next time a spare is preferred. */
  readonly #filledUp = new Set<string>();
  readonly #targets: Map<string, BookieId>;
  #isChanged = false;

  constructor(dependencies: LedgerRepairDependencies, request: RepairRequest) {
    this.#d = dependencies;
    this.#request = request;
    this.#targets = request.targets ?? new Map();
  }

  async run(): Promise<RepairOutcome> {
    const { ledgerId } = this.#request;
    for (let pass = 1; ; pass++) {
      this.#checkStopped();
      const stored = await this.#d.records.read(ledgerId);
      if (stored === undefined) return { outcome: 'deleted' };
      const health = await checkLedger(this.#d, { ledgerId, stored }, this.#request);
      const bad = health.fragments.filter((fragment) => fragment.isClosed && badMembers(fragment).length > 0);
      if (bad.length === 0) {
        const moved = this.#request.movesMisplaced === true ? await this.#moveMisplaced(health) : [];
        if (moved !== 'again' && moved.length > 0) return { outcome: 'failed', problems: moved };
        const rest = moved === 'again' ? moved : await this.#restOf(health);
        if (rest !== 'again') return rest;
      } else {
        const problems = await this.#repairFragments(health, bad);
        if (problems.length > 0) return { outcome: 'failed', problems };
      }
      if (pass === passesMax) return { outcome: 'failed', problems: [repairErrors.STILL_BAD(ledgerId, describe(health))] };
    }
  }

  /** The closed parts have no hole that is known of. */
  async #restOf(health: LedgerHealth): Promise<RepairOutcome | 'again'> {
    const { ledgerId, closesOpen } = this.#request;
    const unknown = health.fragments.flatMap(({ members, isClosed }) => (isClosed ? members.filter(({ state }) => state === 'unknown') : []));
    const open = health.fragments.find(({ isClosed }) => !isClosed);
    const [first, ...others] = open === undefined ? [] : badMembers(open);
    if (open !== undefined && first !== undefined) {
      const hasSpare = this.#spares(health.stored, open.ensemble, first.index).length > 0;
      const missing = [first, ...others].map(({ bookieId }) => bookieId);
      if (!closesOpen || !hasSpare) return { outcome: 'open', missing, hasSpare, problem: this.#openProblem([first, ...others], hasSpare) };
      await this.#close(health.stored);
      return 'again';
    }
    // A bookie that is away is the auditor's business; one that is up and does not tell is asked again later.
    const silent = unknown.filter(({ bookieId }) => this.#request.presence(bookieId) === 'up');
    if (silent.length === 0) return { outcome: 'whole', isChanged: this.#isChanged };
    return { outcome: 'failed', problems: silent.map(({ bookieId, code }) => repairErrors.MEMBER_UNKNOWN(ledgerId, bookieId, code ?? '')) };
  }

  #openProblem(members: readonly MemberHealth[], hasSpare: boolean): DaybookError {
    const { ledgerId } = this.#request;
    const names = members.map(({ bookieId }) => bookieId).join(', ');
    // One that may have forgotten it is filled up once its writer has closed it, and needs nobody to take its place.
    const waitsForClose = hasSpare || members.every(({ state }) => state === 'in-limbo');
    return waitsForClose ? repairErrors.LEDGER_OPEN(ledgerId, names) : repairErrors.NO_TARGET(ledgerId, names, this.#d.placement.describeWritable());
  }

  async #close({ metadata }: VersionedLedger): Promise<void> {
    const { ledgerId } = this.#request;
    if (metadata.namesNoDigest === true) throw repairErrors.NEEDS_PASSWORD(ledgerId);
    this.#d.logger.info({ ledgerId }, 'a bookie of an open ledger is lost and nobody replaces it: the ledger is recovered and closed');
    const reader = await this.#d.ledgers.openWithRecovery(ledgerId, { password: metadata.password });
    await reader.close();
    this.#isChanged = true;
  }

  /** Parts one after the other; the places of one part side by side, on different spares. */
  async #repairFragments({ stored }: LedgerHealth, bad: readonly FragmentHealth[]): Promise<DaybookError[]> {
    const problems: DaybookError[] = [];
    for (const fragment of bad) {
      let { ensemble } = fragment;
      const plans = badMembers(fragment).map((member) => {
        const targets = this.#candidates(stored, { ...fragment, ensemble }, member);
        ensemble = ensemble.with(member.index, targets[0] ?? member.bookieId);
        return { member, targets };
      });
      const taken = new Set<BookieId>();
      problems.push(...(await sideBySide(plans.map((plan) => this.#repairMember(stored, fragment, { ...plan, taken })))));
    }
    return problems;
  }

  async #repairMember(stored: VersionedLedger, fragment: FragmentHealth, plan: MemberPlan): Promise<void> {
    const { ledgerId } = this.#request;
    const { member, targets, taken } = plan;
    if (stored.metadata.namesNoDigest === true) throw repairErrors.NEEDS_PASSWORD(ledgerId);
    let failure: DaybookError = repairErrors.NO_TARGET(ledgerId, member.bookieId, this.#d.placement.describeWritable());
    for (const target of targets) {
      if (taken.has(target)) continue;
      taken.add(target);
      try {
        await this.#moveTo(target, stored, fragment, member);
        return;
      } catch (error) {
        if (!repairErrors.TARGET_FAILED.is(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  /** Copies of whole parts that could span more racks or regions go there; their former places keep them until they are collected. */
  async #moveMisplaced({ stored, fragments }: LedgerHealth): Promise<DaybookError[] | 'again'> {
    const { metadata } = stored;
    if (metadata.namesNoDigest === true) return [];
    let isMoved = false;
    const problems: DaybookError[] = [];
    for (const fragment of fragments) {
      if (!fragment.isClosed || fragment.members.some(({ state }) => state !== 'whole')) continue;
      const moves = this.#d.placement.improvements({ sizes: metadata, ensemble: fragment.ensemble, avoided: this.#avoided() });
      const tasks = moves.map(({ index, to }) => this.#moveTo(to, stored, fragment, fragment.members[index] as MemberHealth));
      problems.push(...(await sideBySide(tasks)));
      isMoved ||= moves.length > 0;
    }
    return isMoved && problems.length === 0 ? 'again' : problems;
  }

  /**
   * A bookie that is there is filled up where it is: that copies least, changes no record, and needs no spare (P13). Only when that did not help, or it is
   * gone, others take the place.
   */
  #candidates(stored: VersionedLedger, fragment: FragmentHealth, member: MemberHealth): BookieId[] {
    const place = placeOf(fragment, member);
    const known = this.#targets.get(place);
    const spares = this.#spares(stored, fragment.ensemble, member.index);
    // What a repair that was broken off has copied already is not copied to yet another bookie.
    if (known !== undefined && this.#isUsable(known) && !fragment.ensemble.includes(known)) spares.unshift(known);
    const unique = [...new Set(spares)];
    if (member.state === 'gone' || !(this.#isUsable(member.bookieId) || this.#isFillable(member))) return unique;
    return this.#filledUp.has(place) ? [...unique, member.bookieId] : [member.bookieId, ...unique];
  }

  /** In limbo a bookie takes copies although it may take nothing else. */
  #isFillable({ isInLimbo, bookieId }: MemberHealth): boolean {
    return isInLimbo && !this.#request.isAvoided(bookieId);
  }

  #isUsable(bookieId: BookieId): boolean {
    return this.#d.registry.get(bookieId)?.isWritable === true && !this.#request.isAvoided(bookieId);
  }

  #spares({ metadata }: VersionedLedger, ensemble: readonly BookieId[], index: number): BookieId[] {
    return this.#d.placement.spares({ sizes: metadata, ensemble, index, avoided: this.#avoided() });
  }

  #avoided(): BookieId[] {
    return this.#d.registry.list().flatMap(({ bookieId }) => (this.#request.isAvoided(bookieId) ? [bookieId] : []));
  }

  async #moveTo(target: BookieId, stored: VersionedLedger, fragment: FragmentHealth, member: MemberHealth): Promise<void> {
    const { ledgerId } = this.#request;
    const isInPlace = target === member.bookieId;
    const place = placeOf(fragment, member);
    const bookie = this.#d.bookies.get(target);
    if (bookie === undefined) throw repairErrors.TARGET_FAILED(ledgerId, target, 'it is gone');
    if (isInPlace) this.#filledUp.add(place);
    else this.#targets.set(place, target);
    const whole = { first: fragment.firstEntryId, last: fragment.lastEntryId };
    const missing = isInPlace ? member.missing : await this.#missingOn(target, whole);
    await this.#copy(bookie, stored, fragment, member, missing);
    this.#checkStopped();
    if (isInPlace) return;
    // The copies lie on these disks; were they exchanged meanwhile, the record must not name them.
    if (this.#d.registry.get(target)?.incarnation !== bookie.incarnation) throw repairErrors.TARGET_FAILED(ledgerId, target, 'it was replaced');
    const swap = { ledgerId, firstEntryId: fragment.firstEntryId, index: member.index, from: member.bookieId, to: target };
    const outcome = await storeMemberSwap(this.#d.records, swap);
    if (outcome !== 'stored') return;
    this.#isChanged = true;
    this.#d.logger.info({ ...swap }, 'copies of a ledger are on another bookie now');
  }

  /** What a spare does not have yet. */
  async #missingOn(target: BookieId, whole: EntryRun): Promise<readonly EntryRun[]> {
    if (whole.last < whole.first) return [];
    const reply = await this.#d.bookies.get(target)?.service.listEntries(this.#request.ledgerId);
    return reply?.code === 'OK' ? runsWithout(whole, reply.runs) : [whole];
  }

  async #copy(
    target: NonNullable<ReturnType<BookiePool['get']>>,
    { metadata }: VersionedLedger,
    fragment: FragmentHealth,
    member: MemberHealth,
    missing: readonly EntryRun[],
  ): Promise<void> {
    const { ledgerId, stop, onCopied } = this.#request;
    const source = {
      ledgerId,
      metadata,
      ensemble: fragment.ensemble,
      // A bookie that has to go, or was said to be lost, may still give what it has.
      missing: fragment.members.map(({ state, missing: runs }) => (state === 'gone' ? [] : runs)),
      bytesMax: readBytesMax,
    };
    await copyEntries(this.#d, {
      ledgerId,
      masterKey: masterKey(metadata.password),
      entries: new OwnEntries(metadata, member.index, missing),
      reader: new ReplicaReader(this.#d.bookies, source),
      target,
      entriesPerRead: entriesPerRead(metadata),
      stop,
      onCopied: (copied) => {
        this.#isChanged = true;
        onCopied?.(copied);
      },
    });
  }

  #checkStopped(): void {
    if (this.#request.stop.aborted) throw repairErrors.STOPPED();
  }
}

/** What went wrong with single places; rejects, once all have ended, with what says nothing about the ledger. */
async function sideBySide(tasks: readonly Promise<void>[]): Promise<DaybookError[]> {
  const results = await Promise.allSettled(tasks);
  const errors = results.flatMap((result): unknown[] => (result.status === 'rejected' ? [result.reason] : []));
  const isOfLedger = (error: unknown): error is DaybookError =>
    error instanceof DaybookError && !repairErrors.STOPPED.is(error) && !metadataErrors.UNAVAILABLE.is(error);
  const other = errors.find((error) => !isOfLedger(error));
  if (other !== undefined) throw other;
  return errors.filter(isOfLedger);
}

function entriesPerRead({ length, lastEntryId }: VersionedLedger['metadata']): number {
  if (lastEntryId < 0 || length === 0) return entriesPerReadMax;
  return Math.max(1, Math.min(entriesPerReadMax, Math.ceil((readBytesMax * (lastEntryId + 1)) / length)));
}

function placeOf({ firstEntryId }: FragmentHealth, { index, bookieId }: MemberHealth): string {
  return `${firstEntryId}:${index}:${bookieId}`;
}

function describe({ fragments }: LedgerHealth): string {
  return fragments
    .flatMap((fragment) => badMembers(fragment).map(({ bookieId, state }) => `${bookieId} is ${state} from entry ${fragment.firstEntryId}`))
    .join(', ');
}
