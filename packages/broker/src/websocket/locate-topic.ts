import type { TopicName } from '@daybook/proto';
import { type Clock, DaybookError } from '@daybook/runtime';
import type { BrokerApi } from '../broker-api.js';
import { topicErrors } from '../topic/errors.js';
import type { Topic } from '../topic/topic-api.js';

/** Where a topic is served. */
export type TopicPlace = { kind: 'here'; topic: Topic } | { kind: 'elsewhere'; brokerId: string };

export interface LocateOptions {
  clock: Clock;
  /** How long failures that pass by themselves are tried again (a topic changing hands, metadata out of reach). */
  patienceMs: number;
  /** Asked before each attempt: true ends the search. */
  isOver(): boolean;
  /** A name or place taken by somebody else is waited for, too: for sessions that had it before. */
  waitsForPlace?: boolean;
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
      if (!passes(error, options) || options.isOver() || clock.monoMs() + delayMs > deadlineMs) throw error;
    }
    await clock.sleep(delayMs);
  }
}

function passes(error: unknown, { waitsForPlace }: LocateOptions): boolean {
  if (!(error instanceof DaybookError) || error.retry === 'never') return false;
  if (topicErrors.RECENTLY_DELETED.is(error)) return false;
  return waitsForPlace === true || !(topicErrors.PRODUCER_BUSY.is(error) || topicErrors.CONSUMER_BUSY.is(error));
}

/** Finds the topic's broker and loads the topic when it is this one; with `create` it is made if need be. */
export async function locateTopic(broker: BrokerApi, name: TopicName, options: { create: boolean }): Promise<TopicPlace> {
  const owner = await broker.owner(name);
  if (!owner.isSelf) return { kind: 'elsewhere', brokerId: owner.brokerId };
  return { kind: 'here', topic: await broker.topics.load(name, options) };
}
