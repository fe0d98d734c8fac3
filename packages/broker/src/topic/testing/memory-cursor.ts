import { comparePositions, noEntry, type Position } from '@daybook/proto';
import type { Cursor, CursorStats } from '../../managed-ledger/managed-ledger-api.js';
import type { PositionMap } from '../../subscription/position-map.js';
import type { MemoryManagedLedger } from './memory-managed-ledger.js';

/** What a cursor of the in-memory log keeps across opens. */
export interface CursorState {
  markDelete: Position;
  acknowledged: PositionMap<true>;
}

/** A cursor with the contract of the real one, over a {@link MemoryManagedLedger}. */
export class MemoryCursor implements Cursor {
  readonly name: string;
  readonly isDurable: boolean;
  readonly properties = new Map<string, bigint>();
  readonly state: CursorState;
  readonly #log: MemoryManagedLedger;

  constructor(name: string, isDurable: boolean, log: MemoryManagedLedger, state: CursorState) {
    this.name = name;
    this.isDurable = isDurable;
    this.#log = log;
    this.state = state;
  }

  get markDelete(): Position {
    return this.state.markDelete;
  }

  get backlog(): number {
    return this.#log.countBetween(this.state.markDelete, this.#log.lastConfirmed) - this.state.acknowledged.size;
  }

  acknowledge(position: Position): boolean {
    if (!this.#log.has(position) || this.isAcknowledged(position)) return false;
    this.state.acknowledged.set(position, true);
    for (;;) {
      const next = this.#log.next(this.state.markDelete);
      if (!this.state.acknowledged.has(next)) return true;
      this.state.acknowledged.delete(next);
      this.state.markDelete = next;
    }
  }

  acknowledgeUpTo(position: Position): void {
    if (comparePositions(position, this.state.markDelete) <= 0) return;
    this.state.markDelete = position;
    this.state.acknowledged.forEach((one) => {
      if (comparePositions(one, position) <= 0) this.state.acknowledged.delete(one);
    });
  }

  isAcknowledged(position: Position): boolean {
    return comparePositions(position, this.state.markDelete) <= 0 || this.state.acknowledged.has(position);
  }

  async reset(markDelete: Position): Promise<void> {
    this.state.markDelete = markDelete;
    this.state.acknowledged.clear();
  }

  async flush(): Promise<void> {}

  stats(): CursorStats {
    return {
      markDeletePosition: this.markDelete,
      individuallyDeletedRanges: [],
      individuallyDeletedRangesCount: 0,
      properties: new Map(),
      cursorLedgerId: undefined,
      cursorLedgerLastEntryId: noEntry,
      lastLedgerSwitchMs: 0,
      state: 'NoLedger',
    };
  }
}
