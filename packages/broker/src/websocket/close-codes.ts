/**
 * Close codes this server sends. All may legally be sent (RFC 6455 section 7.4); Pulsar's own small numbers (3, 8) may not, so 4000 + n stands for them.
 */
export const closeCodes = {
  /** The server is ending. */
  goingAway: 1001,
  /** A binary frame where only text is taken. */
  unsupportedData: 1003,
  /** The client does not answer pings or does not read. */
  policyViolation: 1008,
  /** A frame beyond the absurd limit. */
  tooBig: 1009,
  /** The topic moved to another broker or cannot be served: connect again. */
  serviceRestart: 1012,
  /** Pulsar's error 3: a frame that cannot be read. */
  unreadableFrame: 4003,
  /** Pulsar's error 8: a command failed. */
  commandFailed: 4008,
  /** The topic was deleted. */
  topicDeleted: 4404,
  /** The subscription was deleted. */
  subscriptionDeleted: 4405,
} as const;

export type CloseCode = (typeof closeCodes)[keyof typeof closeCodes];

const reasonBytesMax = 123;

/** A close reason has at most 123 bytes of UTF-8: longer ones are cut between characters. */
export function closeReason(text: string): string {
  if (Buffer.byteLength(text) <= reasonBytesMax) return text;
  let bytes = 0;
  let out = '';
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > reasonBytesMax - 3) break;
    out += character;
  }
  return `${out}…`;
}
