import type { TopicStats } from '../../topic/topic-stats.js';

/** Leaves out what the caller does not want to see: `excludePublishers`, `excludeConsumers`. */
export function withoutParts(stats: TopicStats, query: ReadonlyMap<string, string>): TopicStats {
  const isSet = (name: string) => query.get(name)?.toLowerCase() === 'true';
  let out = stats;
  if (isSet('excludePublishers')) out = { ...out, publishers: [] };
  if (isSet('excludeConsumers')) out = { ...out, subscriptions: withoutConsumers(out.subscriptions) };
  return out;
}

function withoutConsumers(subscriptions: TopicStats['subscriptions']): TopicStats['subscriptions'] {
  return Object.fromEntries(Object.entries(subscriptions).map(([name, stats]) => [name, { ...stats, consumers: [] }]));
}
