/** Bounds of the WebSocket side; all derived from the message limit or constants that nobody should have to tune. */
export interface WebSocketLimits {
  /** Decoded payload of one message (Pulsar's `maxMessageSize`). Larger ones are refused one by one. */
  messageBytesMax: number;
  /** A frame beyond this ends its session with 1009. */
  frameBytesMax: number;
  /** Publishes of one socket that are under way: beyond it the socket is not read. */
  unansweredBytesMax: number;
  /** Bytes that wait for one client: beyond it nothing is delivered and nothing more is read. */
  outgoingBytesMax: number;
  /** How long a handshake waits for a topic that is changing hands. */
  handshakeMs: number;
  /** How long a session whose topic was unloaded waits for it to be served again. */
  moveMs: number;
  /** A ping is sent this often; two unanswered ones end the session. */
  pingMs: number;
  /** A client has this long to answer a close frame. */
  closeMs: number;
}

const mebibyte = 1024 * 1024;

export function webSocketLimits(messageBytesMax: number): WebSocketLimits {
  return {
    messageBytesMax,
    // Base64 takes 4/3; the rest is for properties and for messages that are too large but deserve a proper refusal.
    frameBytesMax: Math.max(4 * messageBytesMax, mebibyte),
    unansweredBytesMax: Math.max(16 * mebibyte, 2 * messageBytesMax),
    outgoingBytesMax: 4 * mebibyte,
    handshakeMs: 10_000,
    moveMs: 30_000,
    pingMs: 15_000,
    closeMs: 10_000,
  };
}
