import type { TopicName } from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import type { BrokerApi } from '../../broker-api.js';
import { topicErrors } from '../../topic/errors.js';
import type { Topic } from '../../topic/topic-api.js';
import { type Answer, Refused } from '../answer.js';
import type { Call } from '../call.js';
import type { Forwarder } from '../forward.js';

/** What routes work with. */
export interface RouteContext {
  broker: BrokerApi;
  clock: Clock;
  forwarder: Forwarder;
}

const patienceMs = 5000;
const firstDelayMs = 50;

/** Runs `act` on the broker that serves the topic: here, or by forwarding the call. A topic that is changing hands is waited for a little. */
export async function onOwner(context: RouteContext, call: Call, name: TopicName, act: () => Promise<Answer>): Promise<Answer> {
  const { broker, clock, forwarder } = context;
  const deadlineMs = clock.monoMs() + patienceMs;
  for (let delayMs = firstDelayMs; ; delayMs *= 2) {
    try {
      const owner = await broker.owner(name);
      return owner.isSelf ? await act() : await forwarder.rest(call, owner.brokerId);
    } catch (error) {
      const passes = topicErrors.OWNED_ELSEWHERE.is(error) || topicErrors.UNAVAILABLE.is(error);
      if (!passes || clock.monoMs() + delayMs > deadlineMs) throw error;
    }
    await clock.sleep(delayMs);
  }
}

/** As {@link onOwner}, for what needs the loaded topic; a missing one is 404. */
export function onTopic(context: RouteContext, call: Call, name: TopicName, act: (topic: Topic) => Promise<Answer> | Answer): Promise<Answer> {
  return onOwner(context, call, name, async () => act(await context.broker.topics.load(name, { create: false })));
}

export async function requireNamespace(broker: BrokerApi, namespaceName: string): Promise<Record<string, unknown>> {
  const policies = await broker.directory.namespace(namespaceName);
  if (policies === undefined) throw new Refused(404, 'Namespace does not exist');
  return policies;
}

export async function requireTopic(broker: BrokerApi, name: TopicName): Promise<void> {
  if (!(await broker.topics.exists(name))) throw topicErrors.NOT_FOUND(name.full);
}
