import {
  type AppendAcknowledgement,
  type AppendReply,
  appendStreamVersion,
  bookieServiceDefinition,
  decodeAppendBatch,
  isSameIdentity,
} from '@daybook/proto';
import type { Listener } from './network.js';

/** The bookie's end of an append stream: hello, then batches in order, answered as ranges once per turn. */
export class AppendServer {
  readonly #listener: Listener;
  readonly #send: (bytes: Buffer) => void;
  readonly #refuse: () => void;
  #isGreeted = false;
  #isClosed = false;
  #nextSequence = 0;
  #ranges: AppendAcknowledgement[] = [];

  constructor(listener: Listener, send: (bytes: Buffer) => void, refuse: () => void) {
    this.#listener = listener;
    this.#send = send;
    this.#refuse = refuse;
  }

  receive(bytes: Buffer): void {
    if (this.#isClosed) return;
    const { identity, service } = this.#listener;
    const message = bookieServiceDefinition.append.requestDeserialize(bytes);
    if (message.kind === 'hello') {
      const isMeant = isSameIdentity(message.expected, identity);
      this.#isGreeted = isMeant;
      this.#reply({ kind: 'hello', version: appendStreamVersion, identity, code: isMeant ? 'OK' : 'UNAVAILABLE' });
      return;
    }
    if (!this.#isGreeted || message.firstSequence !== this.#nextSequence) {
      this.#isClosed = true;
      this.#refuse();
      return;
    }
    for (const batchBytes of message.batches) {
      const sequence = this.#nextSequence++;
      service.append(decodeAppendBatch(batchBytes), (code) => this.#answered({ first: sequence, last: sequence, code }));
    }
  }

  close(): void {
    this.#isClosed = true;
  }

  #answered(range: AppendAcknowledgement): void {
    if (this.#isClosed) return;
    this.#ranges.push(range);
    if (this.#ranges.length > 1) return;
    this.#listener.clock.endOfTurn(() => {
      const ranges = this.#ranges;
      this.#ranges = [];
      if (!this.#isClosed) this.#reply({ kind: 'acknowledgements', ranges });
    });
  }

  #reply(reply: AppendReply): void {
    this.#send(bookieServiceDefinition.append.responseSerialize(reply));
  }
}
