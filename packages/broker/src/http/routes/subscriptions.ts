import { entryId, ledgerId } from '@daybook/proto';
import { topicErrors } from '../../topic/errors.js';
import type { InitialPosition } from '../../topic/topic-api.js';
import { type Answer, jsonAnswer, noContent, notSupported, Refused, Unreadable } from '../answer.js';
import type { Call } from '../call.js';
import { isJsonObject, type JsonValue } from '../json-body.js';
import type { Router } from '../router.js';
import { onOwner, onTopic, type RouteContext } from './route-context.js';

const topicPath = '/admin/v2/persistent/:tenant/:namespace/:topic';
const one = `${topicPath}/subscription/:subscription`;

/** `/admin/v2/persistent/.../subscription`: answered by the topic's owner. */
export function addSubscriptionRoutes(router: Router, context: RouteContext): void {
  router
    .add('GET', `${topicPath}/subscriptions`, (call) =>
      onTopic(context, call, call.topic('persistent'), (topic) => jsonAnswer(topic.subscriptionNames)),
    )
    .add('PUT', one, (call) => createSubscription(call, context))
    .add('DELETE', one, (call) =>
      onTopic(context, call, call.topic('persistent'), async (topic) => {
        await topic.deleteSubscription(call.parameter('subscription'), call.flag('force'));
        return noContent;
      }),
    )
    .add('*', `${one}/*`, (call) => {
      const name = call.topic('persistent');
      return onTopic(context, call, name, (topic) => {
        const subscription = call.parameter('subscription');
        if (!topic.subscriptionNames.includes(subscription)) throw topicErrors.SUBSCRIPTION_NOT_FOUND(subscription, name.full);
        throw notSupported(`${call.method} ${call.segments.slice(8).join('/')} of a subscription`);
      });
    });
}

function createSubscription(call: Call, context: RouteContext): Promise<Answer> {
  const name = call.topic('persistent');
  const subscription = call.parameter('subscription');
  if (subscription.trim() === '') throw new Refused(412, 'Subscription name is not valid');
  if (call.flag('replicated')) throw notSupported('replicated=true of a subscription');
  const initial = initialPosition(call.json());
  return onOwner(context, call, name, async () => {
    await context.broker.topics.createSubscription(name, subscription, initial);
    return noContent;
  });
}

/** Nothing, `"latest"`, `"earliest"`, or a message id; `excluded` begins after the message instead of with it. */
function initialPosition(body: JsonValue | undefined): InitialPosition {
  if (body === undefined || body === null) return 'latest';
  if (body === 'latest' || body === 'earliest') return body;
  if (!isJsonObject(body)) throw new Unreadable('a start is "latest", "earliest" or a message id {"ledgerId":...,"entryId":...}');
  if (body.ledgerId === undefined && body.entryId === undefined) return 'latest';
  const ledger = long(body.ledgerId, 'ledgerId');
  const entry = long(body.entryId, 'entryId');
  if (ledger < 0n) return 'earliest';
  if (ledger > safeMax || entry > safeMax) return 'latest';
  const position = { ledgerId: ledgerId(ledger), entryId: entryId(entry < 0n ? -1n : entry) };
  return { position, isInclusive: body.excluded !== true };
}

const safeMax = BigInt(Number.MAX_SAFE_INTEGER);

function long(value: JsonValue | undefined, name: string): bigint {
  const number = typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : typeof value === 'bigint' ? value : undefined;
  if (number === undefined) throw new Unreadable(`${name} is a whole number`);
  if (BigInt.asIntN(64, number) !== number) throw new Unreadable(`${name} is beyond 64 bits`);
  return number;
}
