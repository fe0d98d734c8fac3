import { createRequire } from 'node:module';
import type * as PromClient from 'prom-client';
import { invariant } from './invariant.js';

/** Values of a metric's labels, by label name. */
export type Labels<Name extends string> = Readonly<Record<Name, string>>;

export interface MetricOptions<Name extends string> {
  /** `daybook_..._total` for counters, `..._seconds`, `..._bytes`: the unit comes last. */
  name: string;
  help: string;
  labels?: readonly Name[];
}

/** A metric and its labelled values. Look up `with` once per topic, ledger or peer, not once per message. */
export interface MetricFamily<One, Name extends string> {
  with(labels: Labels<Name>): One;
  /** Forgets the value of these labels: their topic or peer is gone. */
  remove(labels: Labels<Name>): void;
}

export interface Counter {
  add(count?: number): void;
}

export interface Gauge {
  set(value: number): void;
  add(count: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

/** From 100 us to 10 s, for latencies in seconds. */
export const latencySecondsBuckets: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** From 64 bytes to 4 MiB. */
export const sizeBytesBuckets: readonly number[] = [64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];

type MetricClasses = Pick<typeof PromClient, 'Registry' | 'Counter' | 'Gauge' | 'Histogram'>;

const load = createRequire(import.meta.url);

/** Loaded when they are used, and alone: the whole package takes ten times as long, which every start of a server would pay for. */
function loadMetricClasses(): MetricClasses {
  return {
    Registry: load('prom-client/lib/registry') as MetricClasses['Registry'],
    Counter: load('prom-client/lib/counter') as MetricClasses['Counter'],
    Gauge: load('prom-client/lib/gauge') as MetricClasses['Gauge'],
    Histogram: load('prom-client/lib/histogram') as MetricClasses['Histogram'],
  };
}

/**
 * One node's metrics. Never global: two nodes in one process have two registries. Asking for a name again gives the same family.
 */
export class Metrics {
  readonly #client: MetricClasses;
  readonly #registry: PromClient.Registry;
  readonly #families = new Map<string, { kind: string; labels: string; family: unknown }>();

  constructor({ processMetrics = false }: { processMetrics?: boolean } = {}) {
    this.#client = loadMetricClasses();
    this.#registry = new this.#client.Registry();
    if (processMetrics) (load('prom-client') as typeof PromClient).collectDefaultMetrics({ register: this.#registry });
  }

  counter<Name extends string = never>(options: MetricOptions<Name>): MetricFamily<Counter, Name> {
    return this.#family('counter', options, (settings) => {
      const metric = new this.#client.Counter<Name>(settings);
      return family(metric, (child) => ({ add: (count = 1) => child.inc(count) }));
    });
  }

  gauge<Name extends string = never>(options: MetricOptions<Name>): MetricFamily<Gauge, Name> {
    return this.#family('gauge', options, (settings) => {
      const metric = new this.#client.Gauge<Name>(settings);
      return family(metric, (child) => ({ set: (value) => child.set(value), add: (count) => child.inc(count) }));
    });
  }

  /** A gauge computed when it is scraped: `collect` calls `set` for each value there is now. */
  computedGauge<Name extends string = never>(
    options: MetricOptions<Name> & { collect: (set: (value: number, labels: Labels<Name>) => void) => void },
  ): void {
    const { collect } = options;
    this.#family('computed gauge', options, (settings) => {
      new this.#client.Gauge<Name>({
        ...settings,
        collect() {
          this.reset();
          collect((value, labels) => this.set(labels, value));
        },
      });
      return undefined;
    });
  }

  histogram<Name extends string = never>(options: MetricOptions<Name> & { buckets?: readonly number[] }): MetricFamily<Histogram, Name> {
    return this.#family('histogram', options, (settings) => {
      const metric = new this.#client.Histogram<Name>({ ...settings, buckets: [...(options.buckets ?? latencySecondsBuckets)] });
      return family(metric, (child) => ({ observe: (value) => child.observe(value) }));
    });
  }

  /** The scrape page. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  #family<Name extends string, Family>(
    kind: string,
    options: MetricOptions<Name>,
    make: (settings: PromClient.MetricConfiguration<Name>) => Family,
  ): Family {
    const labels = (options.labels ?? []).join(',');
    const existing = this.#families.get(options.name);
    if (existing !== undefined) {
      invariant(existing.kind === kind && existing.labels === labels, `metric ${options.name} exists with another kind or other labels`);
      return existing.family as Family;
    }
    const made = make({ name: options.name, help: options.help, labelNames: [...(options.labels ?? [])], registers: [this.#registry] });
    this.#families.set(options.name, { kind, labels, family: made });
    return made;
  }
}

interface LabelledMetric<Child, Name extends string> {
  labels(labels: Labels<Name>): Child;
  remove(labels: Labels<Name>): void;
}

function family<Child, One, Name extends string>(metric: LabelledMetric<Child, Name>, one: (child: Child) => One): MetricFamily<One, Name> {
  return {
    with: (labels) => one(metric.labels(labels)),
    remove: (labels) => metric.remove(labels),
  };
}
