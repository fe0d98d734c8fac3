/** One message as a producer's client asked for it. One instance is filled again and again by all sockets: nothing may keep it. */
export class PublishRequest {
  /** Echoed in the answer; undefined: none. */
  context: string | undefined = undefined;
  /** The payload as base64 text without padding. */
  base64 = '';
  /** Bytes that {@link base64} stands for when it is valid; whoever decodes a canonical frame has to compare. */
  payloadBytes = 0;
  key: string | undefined = undefined;
  properties: readonly (readonly [string, string])[] = none;
  replicateTo: readonly string[] = none;
  /** Milliseconds since the epoch; undefined (and 0) mean none. */
  eventTimeMs: number | undefined = undefined;
  /** Not before this moment, milliseconds since the epoch; undefined: at once. */
  deliverAtMs: number | undefined = undefined;
  /** Nothing but a payload and a context. */
  isPlain = true;

  clear(): void {
    this.context = undefined;
    this.base64 = '';
    this.payloadBytes = 0;
    this.key = undefined;
    this.properties = none;
    this.replicateTo = none;
    this.eventTimeMs = undefined;
    this.deliverAtMs = undefined;
    this.isPlain = true;
  }
}

const none: readonly never[] = [];

/** Pulsar's codes in `send-error:<code>`: 3 the frame cannot be read, 7 a value in it is wrong, 8 anything else. */
export type SendErrorCode = 3 | 7 | 8;

export interface PublishRefusal {
  code: SendErrorCode;
  text: string;
  /** Undefined: none given, or not readable. */
  context: string | undefined;
}
