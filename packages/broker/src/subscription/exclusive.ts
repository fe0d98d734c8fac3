import { topicErrors } from '../topic/errors.js';
import type { Consumer } from './consumer.js';
import type { Dispatcher } from './dispatcher.js';

/** At most one consumer, which gets everything in order. A second one is refused. */
export class ExclusiveDispatcher implements Dispatcher {
  readonly type = 'Exclusive';
  #consumers: readonly Consumer[] = [];

  get consumers(): readonly Consumer[] {
    return this.#consumers;
  }

  get activeConsumer(): Consumer | undefined {
    return this.#consumers[0];
  }

  add(consumer: Consumer): void {
    if (this.#consumers.length > 0) throw topicErrors.CONSUMER_BUSY('Exclusive consumer is already connected');
    this.#consumers = [consumer];
  }

  remove(consumer: Consumer): void {
    if (this.#consumers[0] === consumer) this.#consumers = [];
  }

  get roomCount(): number {
    return this.#consumers[0]?.roomCount ?? 0;
  }

  next(): Consumer | undefined {
    const only = this.#consumers[0];
    return only !== undefined && only.roomCount > 0 ? only : undefined;
  }
}
