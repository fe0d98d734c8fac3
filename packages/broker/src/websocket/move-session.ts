import type { TopicName } from '@daybook/proto';
import { type Clock, DaybookError, type Logger } from '@daybook/runtime';
import type { BrokerApi } from '../broker-api.js';
import { topicErrors } from '../topic/errors.js';
import type { Topic } from '../topic/topic-api.js';
import { closeCodes } from './close-codes.js';
import type { WebSocketLimits } from './limits.js';
import { locateTopic, patiently } from './locate-topic.js';
import type { SessionSocket } from './session-socket.js';

export interface MoveOptions {
  session: SessionSocket;
  broker: BrokerApi;
  topic: TopicName;
  clock: Clock;
  limits: WebSocketLimits;
  logger: Logger;
  attach(topic: Topic): Promise<void>;
  /** The session works again. */
  attached(): void;
}

/**
 * After an unload: finds the topic again and attaches the session to it. When another broker serves it now, or nobody does within the time allowed, the
 * socket is closed so that the client connects again.
 */
export async function moveSession(options: MoveOptions): Promise<void> {
  const { session, broker, topic, clock, limits, logger } = options;
  try {
    const place = await patiently({ clock, patienceMs: limits.moveMs, isOver: () => session.isEnded, waitsForPlace: true }, async () => {
      const found = await locateTopic(broker, topic, { create: false });
      if (found.kind === 'here' && !session.isEnded) await options.attach(found.topic);
      return found;
    });
    if (place.kind === 'here') options.attached();
    else session.close(closeCodes.serviceRestart, `Topic ${topic.full} is served by another broker now: connect again`);
  } catch (error) {
    if (topicErrors.NOT_FOUND.is(error)) {
      session.close(closeCodes.topicDeleted, `Topic ${topic.full} was deleted`);
      return;
    }
    const isExpected = error instanceof DaybookError;
    if (!isExpected) logger.error({ error, topic: topic.full }, 'a session could not be attached to its topic again');
    session.close(closeCodes.serviceRestart, isExpected ? error.message : `Topic ${topic.full} cannot be served: connect again`);
  }
}
