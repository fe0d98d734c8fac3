import type { RegisteredBookie } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';
import type { Replacement } from './ensemble-change.js';
import type { MemberState } from './writer-state.js';

export interface MendInput {
  readonly members: readonly MemberState[];
  readonly nowMs: number;
  /** A member that only says "too many requests" is given this long before somebody else gets its place. */
  readonly busyGraceMs: number;
  registered(bookieId: BookieId): RegisteredBookie | undefined;
  /** Spares for the members at these indexes, as far as there are any. */
  pickSpares(failed: readonly number[]): ReadonlyMap<number, BookieId>;
  /** Whether this member may lose its place now; default: always. */
  mayReplace?(member: MemberState): boolean;
}

export interface MendPlan {
  /** To be stored before anything else. */
  readonly replacements: readonly Replacement[];
  /** Indexes whose own bookie, with the same disks, may take entries again. */
  readonly readmissions: readonly number[];
}

/**
 * What to do about failed members. A spare takes the place when there is one. Without a spare the member keeps its place in the metadata and is only
 * not sent anything, until its bookie is back: the ledger can be recovered at any time, and appends go on while Qa of each write set are left.
 */
export function planMending(input: MendInput): MendPlan {
  const failed = input.members.flatMap((member, index) => (member.isFailed ? [{ member, index }] : []));
  const mayReplace = (member: MemberState) => input.mayReplace?.(member) ?? true;
  const replaceable = failed.filter(({ member }) => !isBusy(member, input) && mayReplace(member));
  const spares = replaceable.length === 0 ? noSpares : input.pickSpares(replaceable.map(({ index }) => index));
  const replacements: Replacement[] = replaceable.flatMap(({ index, member }) => {
    const to = spares.get(index);
    return to === undefined ? [] : [{ index, from: member.identity.bookieId, to, incarnation: input.registered(to)?.incarnation ?? '' }];
  });
  const replaced = new Set(replacements.map(({ index }) => index));
  const readmissions: number[] = [];
  for (const { index, member } of failed) {
    const { bookieId, incarnation } = member.identity;
    const registered = replaced.has(index) ? undefined : input.registered(bookieId);
    if (registered?.isWritable !== true) continue;
    if (registered.incarnation === incarnation) readmissions.push(index);
    else if (mayReplace(member)) replacements.push({ index, from: bookieId, to: bookieId, incarnation: registered.incarnation });
  }
  return { replacements, readmissions };
}

const noSpares: ReadonlyMap<number, BookieId> = new Map();

function isBusy(member: MemberState, input: MendInput): boolean {
  return member.failedWith === 'TOO_MANY_REQUESTS' && input.nowMs - member.failedAtMs < input.busyGraceMs;
}
