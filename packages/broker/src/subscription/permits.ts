import { invariant } from '@daybook/runtime';
import type { Flow } from '../topic/topic-api.js';

/**
 * How many more messages one consumer may get. Window flow: `size` minus what it holds. Credit flow: what was permitted and not yet used; nothing
 * else brings messages.
 */
export class Permits {
  readonly flow: Flow;
  #used = 0;
  #credit = 0;

  constructor(flow: Flow) {
    this.flow = flow;
  }

  get available(): number {
    return this.flow.kind === 'window' ? this.flow.size - this.#used : this.#credit;
  }

  /** One message goes out. */
  take(): void {
    invariant(this.available > 0, 'a message goes only to a consumer with room for it');
    if (this.flow.kind === 'window') this.#used++;
    else this.#credit--;
  }

  /** A message this consumer held was acknowledged, given back or timed out. */
  release(): void {
    if (this.flow.kind !== 'window') return;
    invariant(this.#used > 0, 'only a taken slot can be released');
    this.#used--;
  }

  /** Credit flow: `count` more. With a window it has no meaning and no effect; nor has anything but a positive number. */
  add(count: number): void {
    if (this.flow.kind === 'credit' && count > 0) this.#credit = Math.min(this.#credit + Math.floor(count), Number.MAX_SAFE_INTEGER);
  }
}
