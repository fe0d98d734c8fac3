import type { Checker, History, Observation } from '../history.js';
import type { Bookies } from './bookies.js';
import { decodeLedgerRecord, type LedgerRecord, ledgerOfPath, membersOf, writeSetOf } from './record-format.js';

const markPath = /^\/ledgers\/underreplication\/ledgers\/.*\/urL(\d+)$/;
const lockPath = /^\/ledgers\/underreplication\/locks\/urL(\d+)$/;

/**
 * Whoever gets a place in a segment that has an end holds all of it already (copies first, metadata afterwards); a ledger is closed with Qa copies of each
 * entry (I4); at the end nothing is marked or locked any more, and every entry is on all members of its write set.
 */
export class Repair implements Checker {
  readonly marks = new Set<number>();
  readonly locks = new Set<number>();
  readonly #history: History;
  readonly #bookies: Bookies;
  /** What bookies said they have besides what they acknowledged: an acknowledgement that never came. */
  readonly #listed = new Map<string, Set<number>>();
  readonly #records = new Map<number, LedgerRecord>();

  constructor(history: History, bookies: Bookies) {
    this.#history = history;
    this.#bookies = bookies;
  }

  observe(seen: Observation): void {
    if (seen.kind === 'bookie lists' || seen.kind === 'bookie holds') this.#lists(seen);
    if (seen.kind !== 'record') return;
    const { path, value } = seen;
    keep(this.marks, markPath.exec(path), value);
    keep(this.locks, lockPath.exec(path), value);
    const ledgerId = ledgerOfPath(path);
    if (ledgerId === undefined) return;
    if (value === undefined || value.length === 0) {
      this.#records.delete(ledgerId);
      return;
    }
    const record = decodeLedgerRecord(value);
    const before = this.#records.get(ledgerId);
    this.#records.set(ledgerId, record);
    if (before === undefined) return;
    this.#checkNewMembers(ledgerId, before, record);
    if (record.state === 'CLOSED' && before.state !== 'CLOSED') this.#checkClosed(ledgerId, record);
  }

  /** Entries that are committed and are not on all members (or not on Qa of them). */
  missing(needed: 'write quorum' | 'ack quorum', acknowledgedUpTo: (ledgerId: number) => number): string[] {
    const missing: string[] = [];
    for (const [ledgerId, record] of this.#records) {
      const lastFirst = record.segments.at(-1)?.firstEntryId ?? 0;
      const upTo =
        record.state === 'CLOSED'
          ? record.lastEntryId
          : needed === 'write quorum'
            ? lastFirst - 1
            : Math.max(lastFirst - 1, acknowledgedUpTo(ledgerId));
      for (let entryId = 0; entryId <= upTo; entryId++) {
        const members = writeSetOf(record, entryId);
        const have = members.filter((bookie) =>
          needed === 'write quorum' ? this.#has(bookie, ledgerId, entryId) : this.#bookies.holds(bookie, ledgerId, entryId),
        );
        if (have.length >= (needed === 'write quorum' ? record.writeQuorumSize : record.ackQuorumSize)) continue;
        missing.push(`entry ${entryId} of ledger ${ledgerId} (${record.state}) is only on ${have.join(',')} of ${members.join(',')}`);
      }
    }
    return missing;
  }

  wiped(bookie: string): void {
    for (const key of this.#listed.keys()) if (key.startsWith(`${bookie} `)) this.#listed.delete(key);
  }

  #lists({ bookie, ledgerId, runs }: { bookie: string; ledgerId: number; runs: readonly { first: number; last: number }[] }): void {
    const listed = new Set<number>();
    for (const { first, last } of runs) for (let entryId = first; entryId <= last; entryId++) listed.add(entryId);
    this.#listed.set(`${bookie} ${ledgerId}`, listed);
  }

  #has(bookie: string, ledgerId: number, entryId: number): boolean {
    return this.#bookies.held(bookie, ledgerId, entryId) || (this.#listed.get(`${bookie} ${ledgerId}`)?.has(entryId) ?? false);
  }

  #checkNewMembers(ledgerId: number, before: LedgerRecord, record: LedgerRecord): void {
    for (const [place, segment] of before.segments.entries()) {
      const nextFirst = before.segments[place + 1]?.firstEntryId;
      const last = nextFirst === undefined ? (before.state === 'CLOSED' ? before.lastEntryId : -1) : nextFirst - 1;
      const now = record.segments[place];
      if (now === undefined || now.firstEntryId !== segment.firstEntryId) continue;
      for (const [index, member] of now.ensemble.entries()) {
        if (member === segment.ensemble[index]) continue;
        for (let entryId = segment.firstEntryId; entryId <= last; entryId++) {
          if (membersOf(record, entryId).includes(index) && !this.#has(member, ledgerId, entryId)) {
            this.#history.violate(
              'I4',
              `ledger ${ledgerId}: ${member} got the place of ${segment.ensemble[index]}, but does not have entry ${entryId}`,
            );
          }
        }
      }
    }
  }

  #checkClosed(ledgerId: number, record: LedgerRecord): void {
    for (let entryId = 0; entryId <= record.lastEntryId; entryId++) {
      const members = writeSetOf(record, entryId);
      const count = members.filter((bookie) => this.#has(bookie, ledgerId, entryId)).length;
      if (count >= record.ackQuorumSize) continue;
      const text = `closed at ${record.lastEntryId}, but entry ${entryId} has ${count} of ${record.ackQuorumSize} copies on ${members.join(',')}`;
      this.#history.violate('I4', `ledger ${ledgerId}: ${text}`);
    }
  }
}

function keep(set: Set<number>, match: RegExpExecArray | null, value: Buffer | undefined): void {
  if (match === null) return;
  if (value === undefined) set.delete(Number(match[1]));
  else set.add(Number(match[1]));
}
