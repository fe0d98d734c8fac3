import type { LedgerClient } from '@daybook/ledger';
import {
  type BookieRegistry,
  LeaderElection,
  type MetadataStore,
  paths,
  readBookieRacks,
  type SessionState,
  updateBookieRacks,
} from '@daybook/metadata';
import type { TopicName } from '@daybook/proto';
import { Backoff, type Clock, type Logger, type Metrics, type Random } from '@daybook/runtime';
import type { BookieRackRecord, BrokerApi, Owner } from './broker-api.js';
import type { BrokerConfig } from './config.js';
import { brokerLimits } from './limits.js';
import type { ManagedLedgers } from './managed-ledger/managed-ledger-api.js';
import { createManagedLedgers } from './managed-ledger/managed-ledgers.js';
import { LiveBrokers } from './ownership/live-brokers.js';
import { Ownership } from './ownership/ownership.js';
import { bootstrap } from './policies/bootstrap.js';
import { StoredDirectory } from './policies/directory.js';
import { encodeRecord, readRecord } from './policies/records.js';
import { topicErrors } from './topic/errors.js';
import { HealthCheck } from './topic/health-check.js';
import { addTopicMetrics } from './topic/topic-metrics.js';
import { ServedTopics } from './topic/topics.js';

export interface BrokerParts {
  config: BrokerConfig;
  /** `host:port` under which clients and the other brokers reach this one's HTTP service. */
  brokerId: string;
  version: string;
  clock: Clock;
  random: Random;
  /** All parts below are the caller's: they are closed after the broker. */
  store: MetadataStore;
  ledgers: LedgerClient;
  registry: BookieRegistry;
  logger: Logger;
  metrics?: Metrics;
  /** Instead of logs over `ledgers`: for tests of the broker alone. */
  managedLedgers?: ManagedLedgers;
}

/** A broker without its front ends: hand it to `startFrontEnd`. */
export interface Broker extends BrokerApi {
  /** Topics are unloaded (their sessions are told), claims given up. Idempotent. */
  close(): Promise<void>;
}

/** Makes the cluster's first records if they are missing and joins the live brokers. Topics are loaded when somebody asks for them. */
export async function openBroker(parts: BrokerParts): Promise<Broker> {
  const broker = new RunningBroker(parts);
  await broker.start();
  return broker;
}

/**
 * starting -> joined <-> apart (the metadata session is lost: nothing is served until it is back) -> closed.
 */
class RunningBroker implements Broker {
  readonly brokerId: string;
  readonly clusterName: string;
  readonly version: string;
  readonly topics: ServedTopics;
  readonly directory: StoredDirectory;
  readonly bookies: BookieRegistry;
  readonly racks: BookieRackRecord;
  readonly #parts: BrokerParts;
  readonly #managedLedgers: ManagedLedgers;
  readonly #ownership: Ownership;
  readonly #liveBrokers: LiveBrokers;
  readonly #health: HealthCheck;
  readonly #stop = new AbortController();
  #state: 'starting' | 'joined' | 'apart' | 'closed' = 'starting';
  #sessionWatch: { stop(): void } | undefined;
  #election: LeaderElection | undefined;
  #joining: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: BrokerParts) {
    const { config, brokerId, clock, random, store, registry } = parts;
    const limits = brokerLimits(config);
    const logger = parts.logger.child({ component: 'broker' });
    this.#parts = { ...parts, logger };
    this.brokerId = brokerId;
    this.clusterName = config.clusterName;
    this.version = parts.version;
    this.bookies = registry;
    this.racks = { read: () => readBookieRacks(store), update: (change) => updateBookieRacks(store, change) };
    const bundlesCount = config.defaultNumberOfNamespaceBundles;
    this.directory = new StoredDirectory(store, { clusterName: config.clusterName, bundlesCount });
    const policies = (namespaceName: string) => this.directory.namespace(namespaceName);
    this.#liveBrokers = new LiveBrokers(store, brokerId);
    this.#ownership = new Ownership({
      store,
      brokerId,
      logger,
      bundlesCountDefault: bundlesCount,
      policies,
      liveBrokers: () => this.#liveBrokers.list(),
    });
    this.#managedLedgers =
      parts.managedLedgers ?? createManagedLedgers({ ...this.#parts, settings: { tailCacheBytesMax: limits.tailCacheBytesMax } });
    this.topics = new ServedTopics({
      brokerId,
      clock,
      random,
      logger,
      store,
      ledgers: this.#managedLedgers,
      ledgerOptions: limits.ledgers,
      ownership: this.#ownership,
      policies,
      limits: limits.dispatch,
      makeProducerName: producerNames(config.clusterName, random),
    });
    this.#health = new HealthCheck({ brokerId, clock, random, topics: this.topics });
    if (parts.metrics !== undefined) addTopicMetrics(parts.metrics, this.topics, clock);
  }

  get isReady(): boolean {
    return this.#state === 'joined' && this.#parts.store.session === 'connected';
  }

  async start(): Promise<void> {
    const { store, config, logger } = this.#parts;
    await bootstrap(store, {
      clusterName: config.clusterName,
      bundlesCount: config.defaultNumberOfNamespaceBundles,
      webServiceUrl: this.#webServiceUrl,
      brokerServiceUrl: undefined,
    });
    await this.#register();
    this.#state = 'joined';
    this.#sessionWatch = store.onSession((state) => this.#onSession(state));
    // In the background: nothing that clients do waits for a leader.
    this.#election = new LeaderElection({
      store,
      clock: this.#parts.clock,
      path: paths.brokerElection,
      candidate: encodeRecord({ brokerId: this.brokerId, serviceUrl: this.#webServiceUrl }),
      onChange: (state) => logger.info({ state: state.at }, 'broker election'),
    });
    logger.info({ broker: this.brokerId }, 'broker open');
  }

  liveBrokers(): Promise<readonly string[]> {
    return this.#liveBrokers.list();
  }

  async leaderBroker(): Promise<string | undefined> {
    const found = await readRecord(this.#parts.store, paths.brokerElection.leader);
    return typeof found?.record.brokerId === 'string' ? found.record.brokerId : undefined;
  }

  async owner(name: TopicName): Promise<Owner> {
    return this.topics.isLoaded(name) ? { brokerId: this.brokerId, isSelf: true } : this.#ownership.owner(name);
  }

  bundleOf(name: TopicName): string {
    return this.#ownership.bundleOf(name);
  }

  checkHealth(): Promise<void> {
    return this.#health.run();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  get #webServiceUrl(): string {
    return `http://${this.brokerId}`;
  }

  #register(): Promise<void> {
    return this.#liveBrokers.register({ webServiceUrl: this.#webServiceUrl, brokerVersionString: this.version });
  }

  #onSession(state: SessionState): void {
    if (this.#state === 'closed') return;
    if (state === 'lost') {
      this.#state = 'apart';
      this.#parts.logger.warn({}, 'the metadata session is lost: all topics are given up');
      this.#ownership.forgetAll();
      this.topics.abandonAll(topicErrors.UNAVAILABLE('the topic', 'this broker lost its metadata session'));
    } else if (state === 'connected' && this.#state === 'apart') {
      this.#joining ??= this.#rejoin().finally(() => {
        this.#joining = undefined;
      });
    }
  }

  /** Until it works: without the registration nobody would send anything here. */
  async #rejoin(): Promise<void> {
    const { clock, random, logger } = this.#parts;
    const backoff = new Backoff({ random, delayMsMin: 100, delayMsMax: 5000 });
    while (!this.#stop.signal.aborted) {
      try {
        await this.#register();
        if (this.#state === 'apart') this.#state = 'joined';
        logger.info({}, 'joined again under a new metadata session');
        return;
      } catch (error) {
        logger.warn({ error }, 'joining again failed');
      }
      await clock.sleep(backoff.nextDelayMs(), this.#stop.signal);
    }
  }

  async #close(): Promise<void> {
    this.#state = 'closed';
    this.#stop.abort();
    this.#sessionWatch?.stop();
    await this.#joining;
    await this.#election?.close();
    await this.topics.close();
    await this.#managedLedgers.close();
    await this.#ownership.releaseAll();
    await this.#liveBrokers.leave().catch((error: unknown) => {
      // The key goes with the session anyway.
      this.#parts.logger.debug({ error }, 'could not say good-bye');
    });
    this.#parts.logger.info({ broker: this.brokerId }, 'broker closed');
  }
}

/** `cluster-<this run>-<number>`: no two runs of any broker make the same name. */
function producerNames(clusterName: string, random: Random): () => string {
  const run = random.u32();
  let next = 0;
  return () => `${clusterName}-${run}-${next++}`;
}
