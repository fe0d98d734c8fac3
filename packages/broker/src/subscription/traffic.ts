import type { Clock } from '@daybook/runtime';
import { RateWindow } from '../topic/rates.js';
import type { Delivery } from '../topic/topic-api.js';

/** What went out and came back, of one consumer or of a whole subscription: counters, rates and times for the statistics. */
export class Traffic {
  readonly outRate = new RateWindow();
  readonly redeliverRate = new RateWindow();
  readonly ackRate = new RateWindow();
  messagesOutCount = 0;
  bytesOutCount = 0;
  acknowledgedCount = 0;
  lastConsumedMs = 0;
  lastAckedMs = 0;
  /** The last time somebody got room: at the start of a window, and with each permit. */
  lastFlowMs = 0;
}

/** Counts one handout, for both its consumer and the subscription. */
export function countDelivered(deliveries: readonly Delivery[], clock: Clock, both: readonly Traffic[]): void {
  const wallMs = clock.wallMs();
  const monoMs = clock.monoMs();
  let bytes = 0;
  let againCount = 0;
  for (const { entry, redeliveryCount } of deliveries) {
    bytes += entry.payload.length;
    if (redeliveryCount > 0) againCount++;
  }
  for (const traffic of both) {
    traffic.messagesOutCount += deliveries.length;
    traffic.bytesOutCount += bytes;
    traffic.lastConsumedMs = wallMs;
    traffic.outRate.add(monoMs, deliveries.length, bytes);
    if (againCount > 0) traffic.redeliverRate.add(monoMs, againCount, 0);
  }
}

export function countAcknowledged(clock: Clock, both: readonly [Traffic, Traffic]): void {
  const wallMs = clock.wallMs();
  const monoMs = clock.monoMs();
  for (const traffic of both) {
    traffic.lastAckedMs = wallMs;
    traffic.acknowledgedCount++;
    traffic.ackRate.add(monoMs, 1, 0);
  }
}
