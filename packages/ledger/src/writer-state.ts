import type { BookieCode, BookieId } from '@daybook/proto';
import { invariant } from '@daybook/runtime';
import { BatchQueue, type PendingBatch } from './batch-queue.js';
import { storesAnyOf } from './distribution.js';
import { canReachAckQuorum, type QuorumSizes } from './quorum.js';
import { type DomainRule, QuorumAcks } from './quorum-acks.js';

/**
 * The deciding half of a ledger writer: what is sent to whom, what is confirmed, who has failed. No await, no I/O, no clock.
 *
 * ```
 *  open <-> changing      an ensemble change is being stored; answers are counted, nothing is confirmed (R1)
 *  open, changing -> failed | closed     final: every later event is ignored
 * ```
 *
 * Each index of the ensemble has a member. A live one is sent every batch that has entries for it, in order; its answers come in that order, so one
 * watermark says what it holds. A failed one is sent nothing; what it held before still counts, because the metadata names it and its disk has it.
 * Each time a member is admitted its admission number grows and answers to earlier sends are ignored (R3); it is sent everything above
 * lastConfirmed again, and only that counts.
 */
export interface WriterState<B extends PendingBatch> {
  readonly sizes: QuorumSizes;
  readonly limits: WriterLimits;
  /** What a member answered may not be durable yet, and nothing is kept to send it elsewhere: the first failure of a member is the writer's. */
  readonly isDeferredSync: boolean;
  readonly acks: QuorumAcks;
  readonly members: MemberState[];
  /** `members[i].ackedUpTo`, side by side for the arithmetic. */
  readonly ackedUpTo: number[];
  /** Batches that are not confirmed or not yet answered by every live member. */
  readonly batches: BatchQueue<B>;
  phase: WriterPhase;
  lastConfirmed: number;
  /** Payload bytes up to lastConfirmed. */
  lengthConfirmed: number;
  /** Number of the oldest batch that is not confirmed. */
  nextConfirm: number;
  lastAppended: number;
  retainedBytes: number;
}

export type WriterPhase =
  | { readonly at: 'open' }
  | { readonly at: 'changing'; readonly startsAt: number }
  | { readonly at: 'failed'; readonly failure: WriterFailure }
  | { readonly at: 'closed' };

export type WriterFailure =
  | { readonly reason: 'fenced' | 'unauthorized' | 'bad-request'; readonly bookieId: BookieId }
  /** The oldest entry waited too long; `quorumLost` says that too few bookies take entries. */
  | { readonly reason: 'timeout'; readonly quorumLost: boolean }
  /** A member of a ledger with deferred sync failed. */
  | { readonly reason: 'stranded'; readonly bookieId: BookieId; readonly code: BookieCode }
  | { readonly reason: 'stopped'; readonly error: Error };

export interface MemberIdentity {
  readonly bookieId: BookieId;
  /** Another incarnation under the same id is another bookie (its disks were formatted). */
  readonly incarnation: string;
}

export interface MemberState {
  identity: MemberIdentity;
  isFailed: boolean;
  /** Why it failed; meaningful while `isFailed`. */
  failedWith: BookieCode;
  failedAtMs: number;
  /** Grows with each admission and failure. */
  admission: number;
  admittedAtMs: number;
  /** Number of the oldest batch it has not answered. */
  nextAnswer: number;
}

export interface WriterLimits {
  /** A batch that a member does not answer for this long fails the member. */
  readonly appendTimeoutMs: number;
  /** An entry that is not confirmed for this long fails the writer. */
  readonly quorumTimeoutMs: number;
  /** A member that has not answered this many confirmed bytes ... */
  readonly lagBytesMax: number;
  /** ... the oldest of them for this long, is too slow and counts as failed. */
  readonly lagMsMax: number;
  /** An entry is confirmed only with copies in that many fault domains. */
  readonly faultDomains?: { readonly domainsMin: number; domainOf(bookieId: BookieId): string } | undefined;
}

export type WriterEvent<B extends PendingBatch> =
  | { readonly kind: 'append'; readonly batch: B }
  | {
      readonly kind: 'answered';
      readonly index: number;
      readonly admission: number;
      readonly batch: B;
      readonly code: BookieCode;
      readonly nowMs: number;
    }
  /** Known to be gone: the disks it had are not there any more, nothing it acknowledged counts. */
  | { readonly kind: 'member-lost'; readonly index: number; readonly nowMs: number }
  | { readonly kind: 'tick'; readonly nowMs: number }
  | { readonly kind: 'change-began' }
  /** The change is stored (or was found not to be needed): `members` is what the last segment names now. */
  | { readonly kind: 'change-ended'; readonly members: readonly MemberIdentity[]; readonly nowMs: number }
  | { readonly kind: 'readmit'; readonly index: number; readonly nowMs: number }
  | { readonly kind: 'stop'; readonly error: Error }
  | { readonly kind: 'close' };

export type WriterEffect<B extends PendingBatch> =
  | { readonly kind: 'send'; readonly index: number; readonly admission: number; readonly batch: B }
  | { readonly kind: 'confirmed'; readonly upTo: number }
  | { readonly kind: 'member-failed'; readonly index: number; readonly code: BookieCode }
  | { readonly kind: 'failed'; readonly failure: WriterFailure };

export interface NewWriterState {
  sizes: QuorumSizes;
  limits: WriterLimits;
  isDeferredSync?: boolean;
  members: readonly MemberIdentity[];
  /** Entries up to here need no confirmation: -1 for a new ledger, what recovery found otherwise. */
  lastConfirmed: number;
  lengthConfirmed: number;
  nowMs: number;
}

export function newWriterState<B extends PendingBatch>(from: NewWriterState): WriterState<B> {
  invariant(from.members.length === from.sizes.ensembleSize, 'one member per index');
  const member = (identity: MemberIdentity): MemberState => ({
    identity,
    isFailed: false,
    failedWith: 'OK',
    failedAtMs: 0,
    admission: 0,
    admittedAtMs: from.nowMs,
    nextAnswer: 0,
  });
  return {
    sizes: from.sizes,
    limits: from.limits,
    isDeferredSync: from.isDeferredSync === true,
    acks: new QuorumAcks(from.sizes),
    members: from.members.map(member),
    ackedUpTo: from.members.map(() => from.lastConfirmed),
    batches: new BatchQueue<B>(),
    phase: { at: 'open' },
    lastConfirmed: from.lastConfirmed,
    lengthConfirmed: from.lengthConfirmed,
    nextConfirm: 0,
    lastAppended: from.lastConfirmed,
    retainedBytes: 0,
  };
}

export function failedIndexes<B extends PendingBatch>(state: WriterState<B>): number[] {
  return state.members.flatMap((member, index) => (member.isFailed ? [index] : []));
}

/** Whether enough members take entries for all entries to be confirmed. */
export function hasAckQuorum<B extends PendingBatch>(state: WriterState<B>): boolean {
  return canReachAckQuorum(
    state.sizes,
    state.members.map((member) => !member.isFailed),
  );
}

/** Applies one event; what must be done about it is appended to `effects`, to be done in that order. */
export function step<B extends PendingBatch>(state: WriterState<B>, event: WriterEvent<B>, effects: WriterEffect<B>[]): void {
  const { at } = state.phase;
  if (at === 'failed' || at === 'closed') return;
  switch (event.kind) {
    case 'append':
      append(state, event.batch, effects);
      break;
    case 'answered':
      answered(state, event, effects);
      break;
    case 'member-lost':
      memberLost(state, event.index, event.nowMs, effects);
      break;
    case 'tick':
      tick(state, event.nowMs, effects);
      break;
    case 'change-began':
      invariant(at === 'open', 'at most one ensemble change runs');
      state.phase = { at: 'changing', startsAt: state.lastConfirmed + 1 };
      break;
    case 'change-ended':
      changeEnded(state, event.members, event.nowMs, effects);
      break;
    case 'readmit':
      invariant(at === 'open' && state.members[event.index]?.isFailed === true, 'only a failed member is admitted again, between changes');
      admit(state, event.index, event.nowMs, effects);
      break;
    case 'stop':
      fail(state, { reason: 'stopped', error: event.error }, effects);
      break;
    case 'close':
      state.phase = { at: 'closed' };
      forgetBatches(state);
      break;
  }
}

function append<B extends PendingBatch>(state: WriterState<B>, batch: B, effects: WriterEffect<B>[]): void {
  invariant(batch.firstEntryId === state.lastAppended + 1, 'entries are appended without gaps');
  state.batches.push(batch);
  state.lastAppended = batch.lastEntryId;
  state.retainedBytes += batch.bytes;
  for (let index = 0; index < state.members.length; index++) {
    const member = state.members[index] as MemberState;
    if (!member.isFailed) send(state, index, member, batch, effects);
  }
}

function send<B extends PendingBatch>(state: WriterState<B>, index: number, member: MemberState, batch: B, effects: WriterEffect<B>[]): void {
  if (storesAnyOf(state.sizes, index, batch.firstEntryId, batch.lastEntryId)) {
    effects.push({ kind: 'send', index, admission: member.admission, batch });
  } else if (member.nextAnswer === batch.number) {
    answeredBatch(state, index, member, batch);
  }
}

function answered<B extends PendingBatch>(
  state: WriterState<B>,
  event: Extract<WriterEvent<B>, { kind: 'answered' }>,
  effects: WriterEffect<B>[],
): void {
  const { index, code, batch } = event;
  const member = state.members[index] as MemberState;
  if (event.admission !== member.admission) return; // From before it failed or was replaced.
  const { bookieId } = member.identity;
  if (code === 'FENCED') fail(state, { reason: 'fenced', bookieId }, effects);
  else if (code === 'UNAUTHORIZED') fail(state, { reason: 'unauthorized', bookieId }, effects);
  else if (code === 'BAD_REQUEST') fail(state, { reason: 'bad-request', bookieId }, effects);
  else if (code !== 'OK') failMember(state, index, { code, nowMs: event.nowMs }, effects);
  // A gap means that an earlier batch went missing without an answer: what this member holds is not known any more.
  else if (batch.number > member.nextAnswer) failMember(state, index, { code: 'IO_ERROR', nowMs: event.nowMs }, effects);
  else if (batch.number === member.nextAnswer) {
    answeredBatch(state, index, member, batch);
    confirm(state, effects);
    release(state);
  }
}

/** Moves a member's watermark past a batch, and past the following ones that have nothing for it. */
function answeredBatch<B extends PendingBatch>(state: WriterState<B>, index: number, member: MemberState, batch: B): void {
  let last = batch;
  for (;;) {
    member.nextAnswer++;
    const next = state.batches.get(member.nextAnswer);
    if (next === undefined || storesAnyOf(state.sizes, index, next.firstEntryId, next.lastEntryId)) break;
    last = next;
  }
  state.ackedUpTo[index] = last.lastEntryId;
}

/** Confirms whole batches only, so that the length at lastConfirmed is always known. */
function confirm<B extends PendingBatch>(state: WriterState<B>, effects: WriterEffect<B>[]): void {
  if (state.phase.at !== 'open') return; // Not while the metadata may be about to name others (P1).
  const covered = state.acks.confirmedUpTo(state.ackedUpTo, state.lastConfirmed, state.lastAppended, domainRule(state));
  const before = state.lastConfirmed;
  for (;;) {
    const batch = state.batches.get(state.nextConfirm);
    if (batch === undefined || batch.lastEntryId > covered) break;
    state.lastConfirmed = batch.lastEntryId;
    state.lengthConfirmed = batch.lengthUpTo;
    state.nextConfirm++;
  }
  if (state.lastConfirmed > before) effects.push({ kind: 'confirmed', upTo: state.lastConfirmed });
}

function domainRule<B extends PendingBatch>({ limits, members }: WriterState<B>): DomainRule | undefined {
  if (limits.faultDomains === undefined) return undefined;
  const { domainsMin, domainOf } = limits.faultDomains;
  return { domainsMin, domains: members.map((member) => domainOf(member.identity.bookieId)) };
}

/** Lets go of batches that are confirmed and that no live member still owes an answer for. */
function release<B extends PendingBatch>(state: WriterState<B>): void {
  let keepFrom = state.nextConfirm;
  for (const member of state.members) if (!member.isFailed && member.nextAnswer < keepFrom) keepFrom = member.nextAnswer;
  while (state.batches.firstNumber < keepFrom) {
    state.retainedBytes -= (state.batches.get(state.batches.firstNumber) as B).bytes;
    state.batches.dropFirst();
  }
}

function failMember<B extends PendingBatch>(
  state: WriterState<B>,
  index: number,
  why: { code: BookieCode; nowMs: number },
  effects: WriterEffect<B>[],
): void {
  const member = state.members[index] as MemberState;
  member.isFailed = true;
  member.failedWith = why.code;
  member.failedAtMs = why.nowMs;
  member.admission++;
  effects.push({ kind: 'member-failed', index, code: why.code });
  if (state.isDeferredSync) fail(state, { reason: 'stranded', bookieId: member.identity.bookieId, code: why.code }, effects);
  else release(state);
}

function memberLost<B extends PendingBatch>(state: WriterState<B>, index: number, nowMs: number, effects: WriterEffect<B>[]): void {
  state.ackedUpTo[index] = Math.min(state.ackedUpTo[index] as number, state.lastConfirmed);
  const member = state.members[index] as MemberState;
  if (!member.isFailed) failMember(state, index, { code: 'UNAVAILABLE', nowMs }, effects);
}

function changeEnded<B extends PendingBatch>(
  state: WriterState<B>,
  members: readonly MemberIdentity[],
  nowMs: number,
  effects: WriterEffect<B>[],
): void {
  invariant(state.phase.at === 'changing', 'a change ends that has begun');
  state.phase = { at: 'open' };
  // First all watermarks go back, then confirming happens once (P2). Compared with who each index was last sent to, not with an earlier list (P3).
  for (let index = 0; index < members.length; index++) {
    const member = state.members[index] as MemberState;
    const now = members[index] as MemberIdentity;
    if (now.bookieId === member.identity.bookieId && now.incarnation === member.identity.incarnation) continue;
    member.identity = now;
    admit(state, index, nowMs, effects);
  }
  confirm(state, effects);
  release(state);
}

/** Makes the member at `index` live: what is not confirmed goes to it again, and only its answers to that count. */
function admit<B extends PendingBatch>(state: WriterState<B>, index: number, nowMs: number, effects: WriterEffect<B>[]): void {
  const member = state.members[index] as MemberState;
  member.isFailed = false;
  member.failedWith = 'OK';
  member.admission++;
  member.admittedAtMs = nowMs;
  member.nextAnswer = state.nextConfirm;
  state.ackedUpTo[index] = state.lastConfirmed;
  for (let number = state.nextConfirm; number < state.batches.nextNumber; number++) {
    send(state, index, member, state.batches.get(number) as B, effects);
  }
}

function tick<B extends PendingBatch>(state: WriterState<B>, nowMs: number, effects: WriterEffect<B>[]): void {
  for (let index = 0; index < state.members.length; index++) {
    const member = state.members[index] as MemberState;
    const oldest = member.isFailed ? undefined : state.batches.get(member.nextAnswer);
    if (oldest === undefined) continue;
    const waitedMs = nowMs - Math.max(oldest.builtAtMs, member.admittedAtMs);
    const isTooSlow = waitedMs >= state.limits.lagMsMax && lagBytes(state, member) >= state.limits.lagBytesMax;
    if (waitedMs >= state.limits.appendTimeoutMs || isTooSlow) failMember(state, index, { code: 'TIMEOUT', nowMs }, effects);
    if (state.phase.at === 'failed') return;
  }
  const head = state.batches.get(state.nextConfirm);
  if (head !== undefined && nowMs - head.builtAtMs >= state.limits.quorumTimeoutMs) {
    fail(state, { reason: 'timeout', quorumLost: !hasAckQuorum(state) }, effects);
  }
}

/** Bytes that are confirmed and kept only because this member has not answered (P15). */
function lagBytes<B extends PendingBatch>(state: WriterState<B>, member: MemberState): number {
  let bytes = 0;
  for (let number = member.nextAnswer; number < state.nextConfirm; number++) bytes += (state.batches.get(number) as B).bytes;
  return bytes;
}

function fail<B extends PendingBatch>(state: WriterState<B>, failure: WriterFailure, effects: WriterEffect<B>[]): void {
  state.phase = { at: 'failed', failure };
  forgetBatches(state);
  effects.push({ kind: 'failed', failure });
}

function forgetBatches<B extends PendingBatch>(state: WriterState<B>): void {
  for (const member of state.members) member.admission++;
  state.batches.clear();
  state.retainedBytes = 0;
}
