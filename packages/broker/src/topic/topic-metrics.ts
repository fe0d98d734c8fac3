import type { Clock, Metrics } from '@daybook/runtime';
import type { ServedTopics } from './topics.js';

/** Totals over the topics served right now, computed when they are scraped. Per topic there is `stats`: labels by topic would grow without bound. */
export function addTopicMetrics(metrics: Metrics, topics: ServedTopics, clock: Clock): void {
  metrics.computedGauge({ name: 'daybook_topics', help: 'Topics served.', collect: (set) => set(topics.loaded().length, {}) });
  metrics.computedGauge({
    name: 'daybook_topic_connections',
    help: 'Connected producers and consumers.',
    labels: ['kind'],
    collect: (set) => {
      let producers = 0;
      let consumers = 0;
      for (const topic of topics.loaded()) {
        producers += topic.producers.count;
        consumers += topic.subscriptions.consumersCount;
      }
      set(producers, { kind: 'producer' });
      set(consumers, { kind: 'consumer' });
    },
  });
  metrics.computedGauge({
    name: 'daybook_messages_per_second',
    help: 'Messages over the last minute.',
    labels: ['direction'],
    collect: (set) => {
      const nowMs = clock.monoMs();
      let into = 0;
      let out = 0;
      for (const topic of topics.loaded()) {
        into += topic.inRate.read(nowMs).countPerSecond;
        for (const subscription of topic.subscriptions.list()) out += subscription.traffic.outRate.read(nowMs).countPerSecond;
      }
      set(into, { direction: 'in' });
      set(out, { direction: 'out' });
    },
  });
  metrics.computedGauge({
    name: 'daybook_backlog_messages',
    help: 'Messages not acknowledged, over all durable subscriptions.',
    collect: (set) => {
      let backlog = 0;
      for (const topic of topics.loaded()) {
        for (const subscription of topic.subscriptions.list()) if (subscription.cursor.isDurable) backlog += subscription.cursor.backlog;
      }
      set(backlog, {});
    },
  });
}
