/** Something due at a moment of simulated time. */
export interface SimEvent {
  readonly atMs: number;
  readonly sequence: number;
  readonly label: string;
  /** Undefined once cancelled. */
  task: (() => void) | undefined;
}

/** A binary heap by (time, sequence). */
export class EventHeap {
  #events: SimEvent[] = [];

  get size(): number {
    return this.#events.length;
  }

  peek(): SimEvent | undefined {
    return this.#events[0];
  }

  push(event: SimEvent): void {
    const events = this.#events;
    let at = events.length;
    events.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(events[parent] as SimEvent, event)) break;
      events[at] = events[parent] as SimEvent;
      at = parent;
    }
    events[at] = event;
  }

  pop(): SimEvent | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (events.length > 0 && last !== undefined) this.#sink(last);
    return first;
  }

  /** Forgets cancelled events (time-outs that did not happen would pile up). */
  sweep(): void {
    // Sorted order is a heap.
    this.#events = this.#events.filter((event) => event.task !== undefined).sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  #sink(event: SimEvent): void {
    const events = this.#events;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && isBefore(events[child + 1] as SimEvent, events[child] as SimEvent)) child++;
      if (isBefore(event, events[child] as SimEvent)) break;
      events[at] = events[child] as SimEvent;
      at = child;
    }
    events[at] = event;
  }
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.sequence < b.sequence);
}
