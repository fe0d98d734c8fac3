/** Everything that decides whether a subscription moves, as counters at one moment. */
export interface SubscriptionCounters {
  /** Not acknowledged. */
  backlogCount: number;
  /** Delivered and held by a consumer. */
  heldCount: number;
  readyCount: number;
  waitingCount: number;
  /** When the first waiting message is due, from now. */
  nextDueInMs: number | undefined;
  unackedMax: number;
  consumers: readonly ConsumerCounters[];
  /** Why the log cannot be read right now. */
  readError: Error | undefined;
}

export interface ConsumerCounters {
  name: string;
  permitsAvailable: number;
  isWritable: boolean;
  heldCount: number;
  unackedMax: number;
}

/** One reason why (some) messages do not move. */
export type Obstacle =
  | { readonly kind: 'no-consumers' }
  | { readonly kind: 'all-delivered' }
  | { readonly kind: 'no-permits'; readonly consumer: string }
  | { readonly kind: 'consumer-unacked-limit'; readonly consumer: string; readonly heldCount: number; readonly unackedMax: number }
  | { readonly kind: 'not-reading'; readonly consumer: string }
  | { readonly kind: 'subscription-unacked-limit'; readonly unackedCount: number; readonly unackedMax: number }
  | { readonly kind: 'waiting-for-redelivery'; readonly count: number; readonly nextDueInMs: number }
  | { readonly kind: 'storage'; readonly detail: string };

/** What blocks a subscription: computed, never remembered. Empty when it moves. */
export function explain(counters: SubscriptionCounters): Obstacle[] {
  const obstacles: Obstacle[] = [];
  const deliveredCount = counters.heldCount + counters.readyCount + counters.waitingCount;
  const newCount = Math.max(0, counters.backlogCount - deliveredCount);
  if (counters.readError !== undefined) obstacles.push({ kind: 'storage', detail: counters.readError.message });
  if (counters.waitingCount > 0) {
    obstacles.push({ kind: 'waiting-for-redelivery', count: counters.waitingCount, nextDueInMs: counters.nextDueInMs ?? 0 });
  }
  if (newCount + counters.readyCount === 0) {
    if (counters.waitingCount === 0) obstacles.push({ kind: 'all-delivered' });
    return obstacles;
  }
  if (counters.consumers.length === 0) return [...obstacles, { kind: 'no-consumers' }];
  if (newCount > 0 && deliveredCount >= counters.unackedMax) {
    obstacles.push({ kind: 'subscription-unacked-limit', unackedCount: deliveredCount, unackedMax: counters.unackedMax });
  }
  const blocked = counters.consumers.map(blockedBy);
  // As long as one has room, the others' state explains nothing.
  if (!blocked.includes(undefined)) for (const obstacle of blocked) obstacles.push(obstacle!);
  return obstacles;
}

function blockedBy(consumer: ConsumerCounters): Obstacle | undefined {
  if (!consumer.isWritable) return { kind: 'not-reading', consumer: consumer.name };
  if (consumer.heldCount >= consumer.unackedMax) {
    return { kind: 'consumer-unacked-limit', consumer: consumer.name, heldCount: consumer.heldCount, unackedMax: consumer.unackedMax };
  }
  return consumer.permitsAvailable <= 0 ? { kind: 'no-permits', consumer: consumer.name } : undefined;
}
