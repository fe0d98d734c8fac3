import type { Position } from '@daybook/proto';
import { closeCodes } from './close-codes.js';
import { JsonSyntaxError, type LiteralJson, NumberText, parseLiteralJson } from './literal-json.js';
import { parseMessageId, scanMessageId } from './message-id-text.js';

/** What a consumer's or reader's client asks for. */
export type Command =
  | { kind: 'acknowledge'; position: Position }
  | { kind: 'negative-acknowledge'; position: Position }
  /** An id that no message of this cluster can have: nothing to do. */
  | { kind: 'nothing' }
  | { kind: 'permit'; count: number }
  | { kind: 'unsubscribe' }
  | { kind: 'is-end-of-topic' }
  /** The session ends with this reason. */
  | { kind: 'malformed'; code: typeof closeCodes.unreadableFrame; reason: string };

const quote = 0x22;
const head = Buffer.from('{"messageId":"');

/** The place in a canonical acknowledgement, `{"messageId":"CDsQADAA"}`; undefined for every other frame. */
export function scanAcknowledgement(frame: Buffer): Position | undefined {
  const to = frame.length - 2;
  if (to <= head.length || frame[to] !== quote || frame[to + 1] !== 0x7d) return undefined;
  for (let i = 0; i < head.length; i++) if (frame[i] !== head[i]) return undefined;
  return scanMessageId(frame, head.length, to);
}

const permitsMax = 0x7fff_ffff;

export function readCommand(frame: Buffer): Command {
  const members = membersOf(frame);
  return members instanceof Map ? consumerCommand(members) : members;
}

/**
 * As {@link readCommand}, for readers: they have no permits and no subscription to leave, and Pulsar takes any object as "go on". Here one that names a
 * message acknowledges it, whatever its type; any other object is taken without effect.
 */
export function readReaderCommand(frame: Buffer): Command {
  const members = membersOf(frame);
  if (!(members instanceof Map)) return members;
  if (members.get('type') === 'isEndOfTopic') return { kind: 'is-end-of-topic' };
  const command = withPosition('acknowledge', members.get('messageId'));
  return command.kind === 'malformed' ? { kind: 'nothing' } : command;
}

function membersOf(frame: Buffer): Map<string, LiteralJson> | Command {
  try {
    const members = parseLiteralJson(frame.toString('utf8'));
    return members instanceof Map ? members : malformed('Failed to de-serialize from JSON: a command is a JSON object');
  } catch (error) {
    if (error instanceof JsonSyntaxError) return malformed(`Failed to de-serialize from JSON: ${error.message}`);
    throw error;
  }
}

function consumerCommand(members: Map<string, LiteralJson>): Command {
  const type = members.get('type') ?? null;
  if (type instanceof Map || Array.isArray(type)) return malformed('Failed to de-serialize from JSON: "type" is a text');
  switch (type) {
    case 'permit':
      return permit(members.get('permitMessages'));
    case 'unsubscribe':
      return { kind: 'unsubscribe' };
    case 'isEndOfTopic':
      return { kind: 'is-end-of-topic' };
    case 'negativeAcknowledge':
      return withPosition('negative-acknowledge', members.get('messageId'));
    default:
      return withPosition('acknowledge', members.get('messageId'));
  }
}

function permit(value: LiteralJson | undefined): Command {
  const text = value instanceof NumberText ? value.text : typeof value === 'string' ? value.trim() : '';
  const count = text === '' ? Number.NaN : Math.trunc(Number(text));
  if (!(count >= 0 && count <= permitsMax)) return malformed(`permitMessages is a number from 0 to ${permitsMax}`);
  return { kind: 'permit', count };
}

function withPosition(kind: 'acknowledge' | 'negative-acknowledge', value: LiteralJson | undefined): Command {
  if (value === undefined || value === null) return malformed('messageId is missing');
  if (typeof value !== 'string') return malformed('messageId is a text');
  const id = parseMessageId(value);
  switch (id.kind) {
    case 'position':
      return { kind, position: id.position };
    case 'malformed':
      return malformed(`messageId cannot be read: ${id.fault}`);
    case 'earliest':
    case 'latest':
      return { kind: 'nothing' };
  }
}

function malformed(reason: string): Command {
  return { kind: 'malformed', code: closeCodes.unreadableFrame, reason };
}
