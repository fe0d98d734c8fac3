import type { Consumer } from './consumer.js';
import type { Dispatcher } from './dispatcher.js';

/** Consumers of one priority level and whose turn it is. */
interface Level {
  readonly priorityLevel: number;
  readonly consumers: Consumer[];
  nextIndex: number;
}

/** Any number of consumers, one message each in turn; a level gets messages only while nobody of a lower level number has room. */
export class SharedDispatcher implements Dispatcher {
  readonly type = 'Shared';
  readonly activeConsumer = undefined;
  readonly #levels: Level[] = [];

  get consumers(): readonly Consumer[] {
    return this.#levels.flatMap((level) => level.consumers);
  }

  add(consumer: Consumer): void {
    const { priorityLevel } = consumer;
    let index = 0;
    while (index < this.#levels.length && this.#levels[index]!.priorityLevel < priorityLevel) index++;
    const level = this.#levels[index];
    if (level?.priorityLevel === priorityLevel) level.consumers.push(consumer);
    else this.#levels.splice(index, 0, { priorityLevel, consumers: [consumer], nextIndex: 0 });
  }

  remove(consumer: Consumer): void {
    const index = this.#levels.findIndex((level) => level.consumers.includes(consumer));
    const level = this.#levels[index];
    if (level === undefined) return;
    const at = level.consumers.indexOf(consumer);
    level.consumers.splice(at, 1);
    if (at < level.nextIndex) level.nextIndex--;
    if (level.nextIndex >= level.consumers.length) level.nextIndex = 0;
    if (level.consumers.length === 0) this.#levels.splice(index, 1);
  }

  get roomCount(): number {
    let total = 0;
    for (const level of this.#levels) for (const consumer of level.consumers) total += consumer.roomCount;
    return total;
  }

  next(): Consumer | undefined {
    for (const level of this.#levels) {
      const { consumers } = level;
      for (let tried = 0; tried < consumers.length; tried++) {
        const consumer = consumers[level.nextIndex]!;
        level.nextIndex = level.nextIndex + 1 === consumers.length ? 0 : level.nextIndex + 1;
        if (consumer.roomCount > 0) return consumer;
      }
    }
    return undefined;
  }
}
