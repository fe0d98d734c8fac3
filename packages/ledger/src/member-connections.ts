import type { BookieCode } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { BookiePool, PooledBookie } from './bookie-pool.js';
import { blobFor, type TurnBatch } from './turn-batch.js';
import type { MemberIdentity, WriterEffect, WriterEvent } from './writer-state.js';

export type SendEffect = Extract<WriterEffect<TurnBatch>, { kind: 'send' }>;

/** Who hears of the answers. */
export interface EventTaker {
  apply(event: WriterEvent<TurnBatch>): void;
}

/** The connections that the members of an ensemble are sent to, by index. */
export class MemberConnections {
  readonly #clock: Clock;
  readonly #bookies: BookiePool;
  readonly #writer: EventTaker;
  readonly #byIndex: (PooledBookie | undefined)[];

  constructor(dependencies: { readonly clock: Clock; readonly bookies: BookiePool }, writer: EventTaker, members: readonly MemberIdentity[]) {
    this.#clock = dependencies.clock;
    this.#bookies = dependencies.bookies;
    this.#writer = writer;
    this.#byIndex = members.map((member) => this.#connectionTo(member));
  }

  /** From now on, what is for `index` goes to this member: to the disks it names, or nowhere (then it is answered `UNAVAILABLE`). */
  connect(index: number, member: MemberIdentity): void {
    this.#byIndex[index] = this.#connectionTo(member);
  }

  /** Undefined when the member is not reachable under the disks it was admitted with. */
  at(index: number): PooledBookie | undefined {
    return this.#byIndex[index];
  }

  send({ index, admission, batch }: SendEffect): void {
    const connection = this.#byIndex[index];
    const answered = (code: BookieCode) => {
      if (connection !== undefined) this.#bookies.report(connection.bookieId, code, true);
      this.#writer.apply({ kind: 'answered', index, admission, batch, code, nowMs: this.#clock.monoMs() });
    };
    if (connection === undefined) this.#clock.endOfTurn(() => answered('UNAVAILABLE'));
    else connection.service.append(blobFor(batch, index), answered);
  }

  #connectionTo(member: MemberIdentity): PooledBookie | undefined {
    const bookie = this.#bookies.get(member.bookieId);
    return bookie?.incarnation === member.incarnation ? bookie : undefined;
  }
}
