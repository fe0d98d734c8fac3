import type { TopicName } from '@daybook/proto';
import { type Clock, DaybookError } from '@daybook/runtime';
import type { BrokerApi } from '../broker-api.js';
import type { Topic } from '../topic/topic-api.js';

/** Where a topic is served. */
export type TopicPlace = { kind: 'here'; topic: Topic } | { kind: 'elsewhere'; brokerId: string };

export interface LocateOptions {
  clock: Clock;
  /** How long failures that pass by themselves are tried again (a topic changing hands, metadata out of reach). */
  patienceMs: number;
  /** Asked before each attempt: true ends the search. */
  isOver(): boolean;
}

const firstDelayMs = 50;
const delayMsMax = 1000;

/** Runs `attempt` until it works, fails for good, or patience is over (then with the last error). */
export async function patiently<T>(options: LocateOptions, attempt: () => Promise<T>): Promise<T> {
  const { clock } = options;
  const deadlineMs = clock.monoMs() + options.patienceMs;
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 2, delayMsMax)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof DaybookError) || error.retry === 'never' || options.isOver() || clock.monoMs() + delayMs > deadlineMs) throw error;
    }
    await clock.sleep(delayMs);
  }
}

/** Finds the topic's broker and loads the topic (making it if need be) when it is this one. */
export async function locateTopic(broker: BrokerApi, name: TopicName): Promise<TopicPlace> {
  const owner = await broker.owner(name);
  if (!owner.isSelf) return { kind: 'elsewhere', brokerId: owner.brokerId };
  return { kind: 'here', topic: await broker.topics.load(name, { create: true }) };
}
