import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { Daybook, temporaryFolder } from '../testing/run-daybook.js';

const folder = fileURLToPath(new URL('../../../../deploy/grafana/', import.meta.url));

interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: readonly { expr: string; legendFormat: string }[];
}

interface Dashboard {
  uid: string;
  panels: readonly Panel[];
  templating: { list: readonly { query: string | { query: string } }[] };
}

const dashboards = readdirSync(folder)
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({ name, dashboard: JSON.parse(readFileSync(`${folder}${name}`, 'utf8')) as Dashboard }));

/** Names of metrics, as they stand in expressions: with the suffix of a histogram's series. */
function metricsIn(text: string): string[] {
  return text.match(/\bdaybook_\w+/g) ?? [];
}

t.test('dashboards: one for bookies and one for brokers; panels do not overlap', async (t) => {
  t.same(dashboards.map(({ name }) => name).sort(), ['daybook-bookie.json', 'daybook-broker.json']);
  for (const { name, dashboard } of dashboards) {
    t.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length, `${name}: ids`);
    for (const [i, { title, gridPos: a }] of dashboard.panels.entries()) {
      const overlapping = dashboard.panels
        .slice(i + 1)
        .find(({ gridPos: b }) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h);
      t.equal(overlapping?.title, undefined, `${name}: ${title}`);
      t.ok(a.x + a.w <= 24, `${name}: ${title} fits`);
    }
  }
});

t.test('dashboards: every metric they name is on the page of a running standalone, and none is left out', async (t) => {
  const standalone = new Daybook(['standalone', '--port', '0', '--data', temporaryFolder(t), '--log-level', 'error']);
  t.teardown(() => standalone.end());
  const url = await standalone.printed(/(http:\/\/[\d.]+:\d+)/);
  const page = await (await fetch(`${url}/metrics`)).text();
  const types = new Map([...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name as string, type as string]));
  const series = new Set([...types].flatMap(([name, type]) => (type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name])));
  const used = new Set<string>();
  for (const { name, dashboard } of dashboards) {
    const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const queries = dashboard.templating.list.map(({ query }) => (typeof query === 'string' ? query : query.query));
    t.ok(expressions.length > 5, name);
    for (const metric of [...expressions, ...queries].flatMap(metricsIn)) {
      t.ok(series.has(metric), `${name}: ${metric}`);
      used.add(metric.replace(/_(bucket|count|sum)$/, ''));
    }
  }
  for (const [name] of types) if (name.startsWith('daybook_')) t.ok(used.has(name), `${name} is on a dashboard`);
});
