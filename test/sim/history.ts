import type { BookieCode } from '@daybook/proto';
import type { EventQueue } from '@daybook/runtime/sim';

/** What can be seen from outside: what clients were told, what bookies answered, what the metadata says. */
export type Observation =
  | { kind: 'ledger created'; node: string; ledgerId: number; ackQuorumSize: number }
  | { kind: 'pushed'; node: string; ledgerId: number; entryId: number; payload: Buffer }
  | { kind: 'confirmed'; node: string; ledgerId: number; upTo: number }
  | { kind: 'writer failed'; node: string; ledgerId: number; upTo: number }
  | { kind: 'writer closed'; node: string; ledgerId: number; lastEntryId: number; length: number }
  | { kind: 'opened'; node: string; ledgerId: number; lastConfirmed: number; isClosed: boolean; length: number }
  | { kind: 'read'; node: string; ledgerId: number; entryId: number; payload: Buffer }
  | { kind: 'absent'; node: string; ledgerId: number; lastConfirmed: number; text: string }
  | {
      kind: 'bookie append';
      bookie: string;
      ledgerId: number;
      entryIds: readonly number[];
      code: BookieCode;
      isRecovery: boolean;
      wasFenced: boolean;
    }
  | { kind: 'bookie fenced'; bookie: string; ledgerId: number }
  /** `heldBefore`: an entry it had acknowledged before it was asked. */
  | { kind: 'bookie negative'; bookie: string; ledgerId: number; heldBefore: number | undefined }
  /** What it lists, and what it had acknowledged before it was asked. */
  | {
      kind: 'bookie holds';
      bookie: string;
      ledgerId: number;
      code: BookieCode;
      runs: readonly { first: number; last: number }[];
      claimed: readonly number[];
    }
  | { kind: 'bookie lists'; bookie: string; ledgerId: number; runs: readonly { first: number; last: number }[] }
  | { kind: 'record'; path: string; value: Buffer | undefined }
  | { kind: 'log opening'; broker: string; log: string }
  | { kind: 'log opened'; broker: string; tenure: string; log: string; lastConfirmed: Place; before: LogPromises }
  | { kind: 'log pushed'; broker: string; log: string; text: string }
  | { kind: 'log appended'; broker: string; log: string; text: string; ledgerId: number; entryId: number }
  | { kind: 'log read'; broker: string; log: string; text: string; position: Place }
  | { kind: 'log complete'; broker: string; log: string; beforeFirst: Place; entries: readonly { position: Place; text: string }[] }
  | {
      kind: 'cursor opened';
      broker: string;
      log: string;
      mark: Place;
      before: LogPromises;
      isAcknowledged(ledgerId: number, entryId: number): boolean;
    }
  | { kind: 'cursor acked'; tenure: string; log: string; position: Place }
  /** `flushed`: what had been acknowledged when the flush began. */
  | { kind: 'cursor flushed'; broker: string; log: string; flushed: readonly Place[] };

/** What was promised of a log at some moment. */
export interface LogPromises {
  /** The newest acknowledged append. */
  readonly newest: Place;
  /** Acknowledgements of consumers that are durable. */
  readonly durable: readonly Place[];
}

export interface Place {
  readonly ledgerId: number;
  readonly entryId: number;
}

/** Judges observations as they come; tells {@link History.violate} of broken promises. Checkers share no code with the core. */
export interface Checker {
  observe(observation: Observation): void;
}

export interface Violation {
  /** `I6`, `liveness`, `crash`, ... */
  readonly invariant: string;
  readonly text: string;
}

export class History {
  violation: Violation | undefined;
  print: ((line: string) => void) | undefined;
  readonly #queue: EventQueue;
  readonly #checkers: Checker[] = [];

  constructor(queue: EventQueue) {
    this.#queue = queue;
  }

  add<T extends Checker>(checker: T): T {
    this.#checkers.push(checker);
    return checker;
  }

  tell(observation: Observation): void {
    for (const checker of this.#checkers) checker.observe(observation);
  }

  /** The first one counts. */
  violate(invariant: string, text: string): void {
    if (this.violation !== undefined) return;
    this.violation = { invariant, text };
    this.#queue.trace.record(this.#queue.nowMs, 'VIOLATED', invariant, text);
  }

  note(node: string, text: string): void {
    this.#queue.trace.record(this.#queue.nowMs, node, text);
    this.print?.(`${this.#queue.nowMs.toFixed(2)} ${node} ${text}`);
  }
}
