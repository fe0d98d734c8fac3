import type { Checker, History, Observation } from '../history.js';
import { decodeLedgerRecord, type LedgerRecord, ledgerOfPath } from './record-format.js';

export interface KnownLedger {
  readonly ledgerId: number;
  /** By entry id: what its writer pushed. */
  readonly payloads: Buffer[];
  /** Highest id that any application was told to be acknowledged. */
  acknowledged: number;
  record: LedgerRecord | undefined;
  isDeleted: boolean;
}

/**
 * What the metadata says of ledgers, against what clients were told: I5-I9, I15, I19, and I1 (acknowledged in order).
 */
export class Ledgers implements Checker {
  readonly byId = new Map<number, KnownLedger>();
  /** Repair puts others in the place of bookies that are lost. */
  isRepaired = false;
  readonly #history: History;
  readonly #told = new Map<string, number>();

  constructor(history: History) {
    this.#history = history;
  }

  get(ledgerId: number): KnownLedger {
    let ledger = this.byId.get(ledgerId);
    if (ledger === undefined) {
      ledger = { ledgerId, payloads: [], acknowledged: -1, record: undefined, isDeleted: false };
      this.byId.set(ledgerId, ledger);
    }
    return ledger;
  }

  observe(seen: Observation): void {
    switch (seen.kind) {
      case 'record':
        this.#record(seen.path, seen.value);
        break;
      case 'pushed': {
        const { payloads } = this.get(seen.ledgerId);
        if (payloads.length !== seen.entryId)
          this.#history.violate('I1', `ledger ${seen.ledgerId}: entry ${seen.entryId} pushed after ${payloads.length - 1}`);
        payloads.push(seen.payload);
        break;
      }
      case 'confirmed':
        this.#confirmed(seen.node, seen.ledgerId, seen.upTo);
        break;
      case 'log appended':
        this.#acknowledged(this.get(seen.ledgerId), seen.entryId);
        break;
      case 'writer failed':
        if (seen.upTo < (this.#told.get(`${seen.node} ${seen.ledgerId}`) ?? -1)) {
          this.#history.violate(
            'I1',
            `ledger ${seen.ledgerId}: failed with ${seen.upTo} acknowledged, but ${this.get(seen.ledgerId).acknowledged} was told`,
          );
        }
        break;
      case 'writer closed':
        this.#end(seen.ledgerId, seen.lastEntryId, seen.length);
        break;
      case 'opened':
        if (seen.isClosed) this.#end(seen.ledgerId, seen.lastConfirmed, seen.length);
        else this.#openLac(seen.ledgerId, seen.lastConfirmed);
        break;
      default:
        break;
    }
  }

  #confirmed(node: string, ledgerId: number, upTo: number): void {
    const ledger = this.get(ledgerId);
    const key = `${node} ${ledgerId}`;
    const before = this.#told.get(key) ?? -1;
    if (upTo <= before || upTo >= ledger.payloads.length) {
      this.#history.violate('I1', `ledger ${ledgerId}: ${upTo} acknowledged after ${before}, ${ledger.payloads.length} pushed`);
    }
    this.#told.set(key, upTo);
    this.#acknowledged(ledger, upTo);
  }

  #acknowledged(ledger: KnownLedger, upTo: number): void {
    ledger.acknowledged = Math.max(ledger.acknowledged, upTo);
    const { record, ledgerId } = ledger;
    if (record?.state === 'CLOSED' && record.lastEntryId < upTo) {
      this.#history.violate('I6', `ledger ${ledgerId}: entry ${upTo} acknowledged, but the ledger was closed at ${record.lastEntryId}`);
    }
  }

  /** I5: the end that anybody is told is the end that is stored. */
  #end(ledgerId: number, lastEntryId: number, length: number): void {
    const { record, isDeleted } = this.get(ledgerId);
    if (isDeleted) return;
    if (record?.state !== 'CLOSED' || record.lastEntryId !== lastEntryId || record.length !== length) {
      this.#history.violate(
        'I8',
        `ledger ${ledgerId}: somebody was told that it ends at ${lastEntryId} with ${length} bytes; the record says ${record?.state} ${record?.lastEntryId} ${record?.length}`,
      );
    }
  }

  #openLac(ledgerId: number, lastConfirmed: number): void {
    const ledger = this.get(ledgerId);
    if (ledger.record?.state === 'CLOSED' && lastConfirmed > ledger.record.lastEntryId) {
      this.#history.violate('I5', `ledger ${ledgerId}: a reader was told of ${lastConfirmed}, but it ends at ${ledger.record.lastEntryId}`);
    }
  }

  #record(path: string, value: Buffer | undefined): void {
    const ledgerId = ledgerOfPath(path);
    if (ledgerId === undefined) return;
    const ledger = this.get(ledgerId);
    if (value === undefined) {
      ledger.isDeleted = true;
      ledger.record = undefined;
      return;
    }
    if (value.length === 0) return;
    const before = ledger.record;
    const record = decodeLedgerRecord(value);
    ledger.record = record;
    this.#checkShape(ledgerId, record);
    if (before?.state === 'CLOSED' && (record.state !== 'CLOSED' || record.lastEntryId !== before.lastEntryId || record.length !== before.length)) {
      this.#history.violate(
        'I7',
        `ledger ${ledgerId}: closed at ${before.lastEntryId}/${before.length}, now ${record.state} ${record.lastEntryId}/${record.length}`,
      );
    }
    if (before?.state === 'IN_RECOVERY' && record.state === 'OPEN')
      this.#history.violate('I7', `ledger ${ledgerId}: open again after recovery began`);
    if (before !== undefined) this.#checkSegments(ledger, before, record);
    if (record.state === 'CLOSED' && before?.state !== 'CLOSED') this.#checkEnd(ledger, record);
  }

  #checkShape(ledgerId: number, { segments, ensembleSize }: LedgerRecord): void {
    let previous = -1;
    for (const { firstEntryId, ensemble } of segments) {
      if (firstEntryId <= previous || (previous === -1 && firstEntryId !== 0))
        this.#history.violate('I9', `ledger ${ledgerId}: segment ${firstEntryId} after ${previous}`);
      if (new Set(ensemble).size !== ensembleSize || ensemble.length !== ensembleSize) {
        this.#history.violate('I19', `ledger ${ledgerId}: ensemble ${ensemble.join(',')} of ${ensembleSize}`);
      }
      previous = firstEntryId;
    }
  }

  /** I9: segments before the last stay as they are; a new one begins right after what was committed. */
  #checkSegments({ ledgerId, payloads }: KnownLedger, before: LedgerRecord, record: LedgerRecord): void {
    for (const [index, segment] of before.segments.slice(0, -1).entries()) {
      const now = record.segments[index];
      if (this.isRepaired ? now?.firstEntryId !== segment.firstEntryId : JSON.stringify(now) !== JSON.stringify(segment)) {
        this.#history.violate('I9', `ledger ${ledgerId}: segment ${segment.firstEntryId} changed afterwards`);
      }
    }
    const last = record.segments.at(-1)?.firstEntryId ?? 0;
    if (last > payloads.length && payloads.length > 0)
      this.#history.violate('I9', `ledger ${ledgerId}: a segment begins at ${last}, ${payloads.length} were pushed`);
  }

  #checkEnd({ ledgerId, payloads, acknowledged }: KnownLedger, { lastEntryId, length }: LedgerRecord): void {
    if (lastEntryId < acknowledged) this.#history.violate('I6', `ledger ${ledgerId}: closed at ${lastEntryId}, but ${acknowledged} was acknowledged`);
    // Cursors' ledgers and those of logs are written by the core itself: their payloads are not known here.
    if (payloads.length === 0) return;
    const expected = payloads.slice(0, lastEntryId + 1).reduce((sum, payload) => sum + payload.length, 0);
    if (lastEntryId >= payloads.length || length !== expected) {
      this.#history.violate(
        'I15',
        `ledger ${ledgerId}: closed at ${lastEntryId} with length ${length}; payloads have ${expected}, ${payloads.length} were pushed`,
      );
    }
  }
}
