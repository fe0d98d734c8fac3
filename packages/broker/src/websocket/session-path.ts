import type { TopicName } from '@daybook/proto';
import { nameFaultText, topicNameOf } from '../http/names.js';
import { parseRequestTarget, type RequestTarget } from '../http/request-target.js';

/** What a WebSocket's path asks for. */
export type SessionPath =
  | { kind: 'producer'; topic: TopicName; query: ReadonlyMap<string, string> }
  | { kind: 'consumer'; topic: TopicName; subscription: string; query: ReadonlyMap<string, string> }
  | { kind: 'reader'; topic: TopicName; query: ReadonlyMap<string, string> };

export interface Refusal {
  status: number;
  text: string;
}

export function isRefusal(value: SessionPath | Refusal): value is Refusal {
  return 'status' in value;
}

/**
 * `/ws/v2/producer/{domain}/{tenant}/{namespace}/{topic}`, the same with `reader`, and `/ws/v2/consumer/.../{topic}/{subscription}`. The path is split while
 * it is still encoded, so that a subscription may contain `%2F`; a topic may not contain a slash at all.
 */
export function parseSessionPath(url: string): SessionPath | Refusal {
  const target = parseRequestTarget(url);
  if (target === undefined) return { status: 400, text: 'Bad Message 400: the path has a broken escape' };
  const [root, version, kind, ...rest] = target.segments;
  if (root !== 'ws') return notFound;
  if (version === 'v3') return versionThree(target);
  if (version !== 'v2' || (kind !== 'producer' && kind !== 'consumer' && kind !== 'reader')) return notFound;
  return kind === 'consumer' ? consumerPath(target, rest) : topicPath(kind, target, rest);
}

const notFound: Refusal = {
  status: 404,
  text: 'Not Found: WebSockets are at /ws/v2/{producer|consumer|reader}/persistent/{tenant}/{namespace}/{topic}',
};

function topicPath(kind: 'producer' | 'reader', target: RequestTarget, rest: readonly string[]): SessionPath | Refusal {
  const topic = topicOf(rest);
  if ('status' in topic) return topic;
  if (rest.length > 4) return invalid('Invalid topic name format: a topic name has no slash');
  return { kind, topic, query: target.query };
}

function consumerPath(target: RequestTarget, rest: readonly string[]): SessionPath | Refusal {
  if (rest.length === 4 && target.endsWithSlash) return invalid('Empty subscription name');
  if (rest.length !== 5) return invalid('Invalid topic name format');
  const topic = topicOf(rest);
  if ('status' in topic) return topic;
  const subscription = rest[4] as string;
  return subscription.trim() === '' ? invalid('Empty subscription name') : { kind: 'consumer', topic, subscription, query: target.query };
}

function topicOf(parts: readonly string[]): TopicName | Refusal {
  const [domain, tenant, namespace, local] = parts;
  if (domain === undefined || tenant === undefined || namespace === undefined || local === undefined) return invalid('Invalid topic name format');
  const topic = topicNameOf(domain, tenant, namespace, local);
  if (typeof topic === 'string') return invalid(nameFaultText(topic));
  if (topic.domain === 'non-persistent') return invalid('Non-persistent topics are not supported by this version of Daybook');
  return topic;
}

function versionThree(target: RequestTarget): Refusal {
  const hasTopics = target.query.has('topics');
  const hasPattern = target.query.has('topicsPattern');
  if (target.segments[2] !== 'consumer') return notFound;
  if (!hasTopics && !hasPattern) return invalid('Should set topics or topicsPattern');
  if (hasTopics && hasPattern) return invalid('Topics must be null when use topicsPattern');
  return invalid('Consumers of several topics (/ws/v3) are not supported by this version of Daybook');
}

function invalid(detail: string): Refusal {
  return { status: 400, text: `Invalid query params: ${detail}` };
}
