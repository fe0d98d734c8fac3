import t from 'tap';
import { Metrics } from './metrics.js';

t.test('Metrics: counter, gauge, histogram → on the scrape page', async (t) => {
  const metrics = new Metrics();
  const appends = metrics.counter({ name: 'daybook_appends_total', help: 'Appends.', labels: ['topic'] });
  const one = appends.with({ topic: 'a' });
  one.add();
  one.add(2);
  metrics.gauge({ name: 'daybook_queue_bytes', help: 'Queued.' }).with({}).set(7);
  const latency = metrics.histogram({ name: 'daybook_append_seconds', help: 'Latency.' }).with({});
  latency.observe(0.0004);
  latency.observe(20);
  const page = await metrics.text();
  t.match(page, /^daybook_appends_total\{topic="a"\} 3$/m);
  t.match(page, /^daybook_queue_bytes 7$/m);
  t.match(page, /^daybook_append_seconds_bucket\{le="0.00025"\} 0$/m);
  t.match(page, /^daybook_append_seconds_bucket\{le="0.0005"\} 1$/m);
  t.match(page, /^daybook_append_seconds_bucket\{le="\+Inf"\} 2$/m);
  t.match(metrics.contentType, /text\/plain/);
  appends.remove({ topic: 'a' });
  t.notMatch(await metrics.text(), /topic="a"/);
});

t.test('Metrics.computedGauge → computed at each scrape, values that are gone disappear', async (t) => {
  const metrics = new Metrics();
  let topics = ['a', 'b'];
  const collect = (set: (value: number, labels: { topic: string }) => void) => {
    for (const topic of topics) set(topic.charCodeAt(0), { topic });
  };
  metrics.computedGauge({ name: 'daybook_backlog', help: 'Backlog.', labels: ['topic'], collect });
  t.match(await metrics.text(), /topic="a"\} 97[\s\S]*topic="b"\} 98/);
  topics = ['b'];
  t.notMatch(await metrics.text(), /topic="a"/);
});

t.test('Metrics: two nodes in one process → apart; one name twice → one family; with other labels → broken invariant', async (t) => {
  const [first, second] = [new Metrics(), new Metrics()];
  const options = { name: 'daybook_x_total', help: 'X.', labels: ['a'] as const };
  t.equal(first.counter(options), first.counter(options));
  first.counter(options).with({ a: '1' }).add(5);
  second.counter(options).with({ a: '1' }).add(1);
  t.match(await second.text(), /daybook_x_total\{a="1"\} 1$/m);
  t.throws(() => first.gauge(options), { name: 'BrokenInvariant' });
  t.throws(() => first.counter({ name: 'daybook_x_total', help: 'X.', labels: ['b'] }), { name: 'BrokenInvariant' });
});

t.test('Metrics: processMetrics → those of the process', async (t) => {
  t.match(await new Metrics({ processMetrics: true }).text(), /process_resident_memory_bytes/);
});
