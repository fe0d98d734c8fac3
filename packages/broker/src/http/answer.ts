import type { IncomingMessage } from 'node:http';

/** What a route answers. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream comes from another broker (forward.ts). */
  readonly body: string | IncomingMessage | undefined;
}

/** An answer that ends the handling of a request: thrown by whatever finds out. */
export class Refused extends Error {
  readonly answer: Answer;
  constructor(status: number, reason: string) {
    super(reason);
    this.answer = reasonAnswer(status, reason);
  }
}

/** An answer with a plain text instead of a reason, as Pulsar's JSON parser gives for bodies it cannot read. */
export class Unreadable extends Refused {
  override readonly answer: Answer;
  constructor(text: string) {
    super(400, text);
    this.answer = textAnswer(400, text);
  }
}

const json = { 'content-type': 'application/json' };

/** JSON with 64-bit integers (bigint) as plain numbers. Only plain data is printed. */
export function jsonAnswer(value: unknown, status = 200): Answer {
  return { status, headers: json, body: stringify(value) };
}

export function reasonAnswer(status: number, reason: string): Answer {
  return { status, headers: json, body: JSON.stringify({ reason }) };
}

export function textAnswer(status: number, text: string): Answer {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: text };
}

/** Done, nothing to say. */
export const noContent: Answer = { status: 204, headers: {}, body: undefined };

/** 200 with an empty body: how Pulsar says "not set", and how it answers some writes. */
export const emptyAnswer: Answer = { status: 200, headers: {}, body: '' };

export function notSupported(what: string): Refused {
  return new Refused(405, `${what} is not supported by this version of Daybook`);
}

function stringify(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? bigintNumber(item) : item));
}

/** Bigints inside stats are far below 2^53; what is not is printed as text rather than rounded. */
function bigintNumber(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}
