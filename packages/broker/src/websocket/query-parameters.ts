import type { Flow, InitialPosition, SubscriptionType } from '../topic/topic-api.js';
import { parseMessageId } from './message-id-text.js';

/** A parameter that cannot be taken: the upgrade is refused with 400 `Invalid query params: ...`. */
export class InvalidParameter extends Error {
  override readonly name = 'InvalidParameter';
}

export interface ProducerParameters {
  producerName: string | undefined;
  initialSequenceId: bigint | undefined;
  /** 0: none. */
  sendTimeoutMs: number;
}

export interface ConsumerParameters {
  type: SubscriptionType;
  isDurable: boolean;
  initial: InitialPosition;
  consumerName: string | undefined;
  priorityLevel: number;
  negativeAckDelayMs: number;
  ackTimeoutMs: number;
  flow: Flow;
}

export interface ReaderParameters {
  readerName: string | undefined;
  queueSize: number;
  initial: InitialPosition;
}

type Query = ReadonlyMap<string, string>;

const int32Max = 0x7fff_ffff;
const queueSizeMax = 1000;

export function producerParameters(query: Query): ProducerParameters {
  const initialSequenceId = query.has('initialSequenceId') ? long(query, 'initialSequenceId') : undefined;
  choice(query, 'hashingScheme', ['JavaStringHash', 'Murmur3_32Hash'], 'JavaStringHash');
  const sendTimeoutMs = int(query, 'sendTimeoutMillis', 30_000);
  if (sendTimeoutMs < 0) throw new InvalidParameter('sendTimeout needs to be >= 0');
  choice(query, 'messageRoutingMode', ['SinglePartition', 'RoundRobinPartition', 'CustomPartition'], 'SinglePartition');
  if (choice(query, 'compressionType', ['NONE', 'LZ4', 'ZLIB', 'ZSTD', 'SNAPPY'], 'NONE') !== 'NONE')
    throw unsupported('compressionType other than NONE');
  if (bool(query, 'batchingEnabled')) {
    int(query, 'batchingMaxMessages', 1000);
    int(query, 'batchingMaxPublishDelay', 10);
    if (int(query, 'maxPendingMessages', 0) < 0) throw new InvalidParameter('maxPendingMessages needs to be >= 0');
    throw unsupported('batchingEnabled=true');
  }
  if (query.has('encryptionKeys')) throw unsupported('encryptionKeys');
  const producerName = query.get('producerName')?.trim();
  return { producerName: producerName === '' ? undefined : producerName, initialSequenceId, sendTimeoutMs };
}

export function consumerParameters(query: Query): ConsumerParameters {
  const ackTimeoutMs = int(query, 'ackTimeoutMillis', 0);
  if (ackTimeoutMs !== 0 && ackTimeoutMs < 1000) throw new InvalidParameter('Ack timeout should be greater than 1000 ms');
  const type = choice(query, 'subscriptionType', ['Exclusive', 'Shared', 'Failover', 'Key_Shared'], 'Exclusive');
  const isDurable = choice(query, 'subscriptionMode', ['Durable', 'NonDurable'], 'Durable') === 'Durable';
  const position = choice(query, 'subscriptionInitialPosition', ['Latest', 'Earliest'], 'Latest');
  const size = queueSize(query);
  const consumerName = query.get('consumerName');
  if (consumerName?.trim() === '') throw new InvalidParameter('consumerName cannot be blank');
  const priorityLevel = int(query, 'priorityLevel', 0);
  if (priorityLevel < 0) throw new InvalidParameter('priorityLevel needs to be >= 0');
  const negativeAckDelayMs = int(query, 'negativeAckRedeliveryDelay', 60_000);
  if (negativeAckDelayMs < 0) throw new InvalidParameter('redeliveryDelay needs to be >= 0');
  refuseDeadLetters(query);
  if (type === 'Failover' || type === 'Key_Shared') throw unsupported(`subscriptionType ${type}`);
  return {
    type,
    isDurable,
    initial: position === 'Earliest' ? 'earliest' : 'latest',
    consumerName,
    priorityLevel,
    negativeAckDelayMs,
    ackTimeoutMs,
    flow: bool(query, 'pullMode') ? { kind: 'credit' } : { kind: 'window', size },
  };
}

function refuseDeadLetters(query: Query): void {
  if (query.has('maxRedeliverCount') && int(query, 'maxRedeliverCount', 0) <= 0) throw new InvalidParameter('MaxRedeliverCount must be > 0.');
  if (query.has('deadLetterTopic') && !query.has('maxRedeliverCount')) throw new InvalidParameter('MaxRedeliverCount must be > 0.');
  if (query.has('maxRedeliverCount')) throw unsupported('maxRedeliverCount (dead letters)');
}

export function readerParameters(query: Query): ReaderParameters {
  const readerName = query.get('readerName')?.trim();
  return { readerName: readerName === '' ? undefined : readerName, queueSize: queueSize(query), initial: startOf(query.get('messageId') ?? '') };
}

/** Delivery starts after the given id. */
function startOf(text: string): InitialPosition {
  if (text.trim() === '' || text === 'latest') return 'latest';
  if (text === 'earliest') return 'earliest';
  // A `+` that was not percent-encoded has become a blank.
  const id = parseMessageId(text.replaceAll(' ', '+'));
  switch (id.kind) {
    case 'malformed':
      throw new InvalidParameter(`messageId is earliest, latest or a message id: ${id.fault}`);
    case 'position':
      return { position: id.position, isInclusive: false };
    case 'earliest':
    case 'latest':
      return id.kind;
  }
}

function queueSize(query: Query): number {
  const size = int(query, 'receiverQueueSize', queueSizeMax);
  if (size < 0) throw new InvalidParameter('receiverQueueSize needs to be >= 0');
  return Math.min(Math.max(size, 1), queueSizeMax);
}

function integer(text: string): bigint {
  if (!/^[+-]?\d{1,25}$/.test(text)) throw new InvalidParameter(`For input string: "${text.slice(0, 60)}"`);
  return BigInt(text.replace(/^\+/, ''));
}

function int(query: Query, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === undefined) return fallback;
  const value = Number(integer(text));
  if (value > int32Max || value < -int32Max - 1) throw new InvalidParameter(`For input string: "${text}"`);
  return value;
}

function long(query: Query, name: string): bigint {
  const text = query.get(name) as string;
  const value = integer(text);
  if (BigInt.asIntN(64, value) !== value) throw new InvalidParameter(`For input string: "${text}"`);
  return value;
}

/** `true` in any case is true, everything else is false. */
function bool(query: Query, name: string): boolean {
  return query.get(name)?.toLowerCase() === 'true';
}

function choice<T extends string>(query: Query, name: string, allowed: readonly T[], fallback: T): T {
  const text = query.get(name);
  if (text === undefined) return fallback;
  const found = allowed.find((value) => value === text);
  if (found === undefined) throw new InvalidParameter(`Invalid ${name} ${text.slice(0, 60)}: one of ${allowed.join(', ')}`);
  return found;
}

function unsupported(what: string): InvalidParameter {
  return new InvalidParameter(`${what} is not supported by this version of Daybook`);
}
