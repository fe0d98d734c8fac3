import { fromBase64 } from './base64.js';

/** A message as it was delivered. */
export interface Message {
  /** Opaque; hand it back to acknowledge, or to begin a reader after it. */
  readonly messageId: string;
  readonly payload: Uint8Array;
  readonly text: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly key: string | undefined;
  /** ISO-8601. */
  readonly publishTime: string;
  readonly eventTime: string | undefined;
  /** How often it was delivered before without being acknowledged. */
  readonly redeliveryCount: number;
}

interface DeliveredFrame {
  messageId: string;
  payload: string;
  properties?: Record<string, string>;
  key?: string;
  publishTime: string;
  eventTime?: string;
  redeliveryCount?: number;
}

/** Reads a delivered frame; undefined for every other kind of frame. */
export function parseMessage(frame: unknown): Message | undefined {
  if (typeof frame !== 'object' || frame === null || !('messageId' in frame) || !('payload' in frame)) return undefined;
  const delivered = frame as DeliveredFrame;
  let payload: Uint8Array | undefined;
  return {
    messageId: delivered.messageId,
    get payload() {
      payload ??= fromBase64(delivered.payload);
      return payload;
    },
    get text() {
      return new TextDecoder().decode(this.payload);
    },
    properties: delivered.properties ?? {},
    key: delivered.key,
    publishTime: delivered.publishTime,
    eventTime: delivered.eventTime,
    redeliveryCount: delivered.redeliveryCount ?? 0,
  };
}
