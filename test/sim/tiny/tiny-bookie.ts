import type { BookieCode, BookieId } from '@daybook/proto';

export interface TinyReply {
  readonly code: BookieCode;
  /** Last-add-confirmed of the newest entry. */
  readonly lac?: number;
}

export interface Message {
  readonly kind: 'append' | 'fence' | 'read';
  readonly from: string;
  readonly bookie: BookieId;
  readonly entryId?: number;
  /** Carried by an entry. */
  readonly lac?: number;
  readonly isRecovery?: boolean;
  readonly index: number;
  readonly admission?: number;
  readonly isGivenUp?: boolean;
  readonly reply?: TinyReply;
}

const texts = new WeakMap<Message, string>();

/** Two messages at one bookie that have the same text are the same. */
export function textOf(message: Message): string {
  let text = texts.get(message);
  if (text === undefined) {
    text = describe(message);
    texts.set(message, text);
  }
  return text;
}

function describe({ kind, from, entryId, lac, isRecovery, admission, isGivenUp, reply }: Message): string {
  const what = `${from} ${kind}${isRecovery === true ? ' (recovery)' : ''} ${entryId ?? ''}.${lac ?? ''}.${admission ?? ''}`;
  return `${what}${isGivenUp === true ? ' late' : ''}${reply === undefined ? '' : ` ${reply.code} ${reply.lac ?? ''}`}`;
}

/** Entries and a fence, durable at once. */
export class TinyBookie {
  readonly id: BookieId;
  isLimbo = false;
  readonly everHeld = new Set<number>();
  #isFenced = false;
  readonly #lacs = new Map<number, number>();
  #fingerprint: string | undefined;

  constructor(id: string) {
    this.id = id as BookieId;
  }

  clone(): TinyBookie {
    const copy = new TinyBookie(this.id);
    copy.isLimbo = this.isLimbo;
    copy.#isFenced = this.#isFenced;
    for (const [entryId, lac] of this.#lacs) copy.#lacs.set(entryId, lac);
    for (const entryId of this.everHeld) copy.everHeld.add(entryId);
    return copy;
  }

  /** As it is now: asked for when it does not change any more. */
  fingerprint(): string {
    this.#fingerprint ??= this.#describe();
    return this.#fingerprint;
  }

  #describe(): string {
    let text = `${this.isLimbo ? 'L' : ''}${this.#isFenced ? 'F' : ''}`;
    for (let entryId = 0; entryId < 3; entryId++) text += `${this.everHeld.has(entryId) ? '+' : ''}${this.#lacs.get(entryId) ?? '_'},`;
    return text;
  }

  /** Its journal was lost with everything in it. */
  forget(isLimbo: boolean): void {
    this.isLimbo = isLimbo;
    this.#isFenced = false;
    this.#lacs.clear();
  }

  serve(message: Message, { defect }: { defect?: string }): TinyReply {
    const negative: TinyReply = { code: this.isLimbo ? 'UNKNOWN_LEDGER_STATE' : 'NO_ENTRY' };
    switch (message.kind) {
      case 'append':
        if (this.isLimbo) return { code: 'READ_ONLY' };
        if (this.#isFenced && message.isRecovery !== true) return { code: 'FENCED' };
        this.#lacs.set(message.entryId as number, message.lac as number);
        this.everHeld.add(message.entryId as number);
        return { code: 'OK' };
      case 'fence': {
        this.#isFenced = true;
        const newest = Math.max(-1, ...this.#lacs.keys());
        return newest < 0 ? negative : { code: 'OK', lac: this.#lacs.get(newest) as number };
      }
      case 'read':
        if (defect !== 'reads do not fence') this.#isFenced = true;
        return this.#lacs.has(message.entryId as number) ? { code: 'OK', lac: this.#lacs.get(message.entryId as number) as number } : negative;
    }
  }
}
