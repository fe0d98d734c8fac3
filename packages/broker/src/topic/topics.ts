import { type MetadataStore, paths } from '@daybook/metadata';
import { managedLedgerName, type TopicName, topicNameOfManagedLedger } from '@daybook/proto';
import { type Clock, DaybookError, type Logger, type Random } from '@daybook/runtime';
import type { Topics } from '../broker-api.js';
import type { ManagedLedgerOptions, ManagedLedgers } from '../managed-ledger/managed-ledger-api.js';
import { heartbeatBroker } from '../ownership/lookup.js';
import type { Ownership } from '../ownership/ownership.js';
import type { Policies } from '../policies/namespace-policies.js';
import type { DispatchLimits } from '../subscription/subscription.js';
import { topicErrors } from './errors.js';
import { PersistentTopic, type TopicHost } from './persistent-topic.js';
import { Tombstones } from './tombstones.js';
import type { InitialPosition, Topic } from './topic-api.js';

export interface ServedTopicsParts {
  brokerId: string;
  clock: Clock;
  random: Random;
  logger: Logger;
  store: MetadataStore;
  ledgers: ManagedLedgers;
  ledgerOptions: ManagedLedgerOptions;
  ownership: Ownership;
  policies: (namespaceName: string) => Promise<Policies | undefined>;
  limits: DispatchLimits;
  makeProducerName: () => string;
}

/** Whether a topic that is not there may be made, and who wants it. */
type Creation = 'never' | 'automatic' | 'explicit';

type OpeningEntry = { at: 'opening'; opened: Promise<PersistentTopic>; bundle: string | undefined };
/** opening -> served -> ending (then it leaves the map). One per topic, so that whatever happens to a topic happens one after the other. */
type Entry =
  | OpeningEntry
  | { at: 'served'; topic: PersistentTopic; bundle: string | undefined }
  | { at: 'ending'; ended: Promise<void>; bundle: string | undefined };

/** The topics this broker serves. */
export class ServedTopics implements Topics {
  readonly #parts: ServedTopicsParts;
  readonly #host: TopicHost;
  readonly #entries = new Map<string, Entry>();
  readonly #tombstones: Tombstones;
  /** Counts the sessions lost: a topic that was being opened in an earlier one is not served. */
  #epoch = 0;
  #isClosed = false;

  constructor(parts: ServedTopicsParts) {
    this.#parts = parts;
    const { brokerId, clock, random, limits, makeProducerName } = parts;
    this.#host = { brokerId, clock, random, limits, makeProducerName, lost: (topic, error) => this.#lost(topic, error) };
    this.#tombstones = new Tombstones(parts.clock);
  }

  async load(name: TopicName, options: { create: boolean }): Promise<Topic> {
    checkSupported(name);
    for (;;) {
      const entry = this.#entries.get(name.full);
      if (entry === undefined) return this.#open(name, options.create ? 'automatic' : 'never');
      if (entry.at === 'served') return entry.topic;
      if (entry.at === 'ending') {
        await entry.ended;
        continue;
      }
      try {
        return await entry.opened;
      } catch (error) {
        // Whoever began it did not want a new topic.
        if (!options.create || !topicErrors.NOT_FOUND.is(error)) throw error;
      }
    }
  }

  isLoaded(name: TopicName): boolean {
    return this.#entries.get(name.full)?.at === 'served';
  }

  loaded(): readonly PersistentTopic[] {
    const topics: PersistentTopic[] = [];
    for (const entry of this.#entries.values()) if (entry.at === 'served') topics.push(entry.topic);
    return topics;
  }

  async create(name: TopicName, properties: ReadonlyMap<string, string>): Promise<void> {
    checkSupported(name);
    for (;;) {
      const entry = await this.#settled(name);
      if (entry !== undefined || (await this.#parts.ledgers.exists(managedLedgerName(name)))) throw topicErrors.EXISTS();
      // Somebody may have begun meanwhile; of two that create at once, one is told that it exists.
      if (!this.#entries.has(name.full)) break;
    }
    this.#tombstones.lift(name.full);
    const topic = await this.#open(name, 'explicit');
    if (properties.size === 0) return;
    await topic.setProperties((stored) => {
      for (const [key, value] of properties) stored.set(key, value);
    });
  }

  async delete(name: TopicName, { force }: { force: boolean }): Promise<void> {
    checkSupported(name);
    for (;;) {
      const entry = await this.#settled(name);
      if (entry?.at === 'served') {
        await this.#deleteServed(entry.topic, entry.bundle, force);
        return;
      }
      if (!(await this.#parts.ledgers.exists(managedLedgerName(name)))) throw topicErrors.NOT_FOUND(name.full);
      const bundle = await this.#parts.ownership.claim(name);
      if (this.#entries.has(name.full)) continue;
      await this.#end(name.full, bundle, () => this.#parts.ledgers.delete(managedLedgerName(name)));
      return;
    }
  }

  async unload(name: TopicName): Promise<void> {
    checkSupported(name);
    const entry = await this.#settled(name);
    if (entry?.at !== 'served') {
      if (!(await this.exists(name))) throw topicErrors.NOT_FOUND(name.full);
      return;
    }
    const { topic, bundle } = entry;
    await this.#end(name.full, bundle, async () => {
      await topic.close('unloaded');
      await topic.log.close();
      // With its last topic the whole bundle is free to go elsewhere.
      if (bundle !== undefined && bundle !== '' && !this.#isUsed(bundle, name.full)) await this.#parts.ownership.release(bundle);
    });
    this.#parts.logger.info({ topic: name.full }, 'topic unloaded');
  }

  async createSubscription(name: TopicName, subscription: string, initial: InitialPosition): Promise<void> {
    const topic = await this.load(name, { create: true });
    await topic.createSubscription(subscription, initial);
  }

  async list(namespaceName: string): Promise<string[]> {
    const found = await this.#parts.store.children(paths.topicsOfNamespace(namespaceName));
    const names = found.map((encoded) => topicNameOfManagedLedger(`${namespaceName}/persistent/${encoded}`)?.full);
    return names.filter((full) => full !== undefined).sort();
  }

  async exists(name: TopicName): Promise<boolean> {
    if (name.domain !== 'persistent') return false;
    return this.isLoaded(name) || (await this.#parts.ledgers.exists(managedLedgerName(name)));
  }

  /** The metadata session is lost: nothing is ours any more. Sessions end now; logs are closed behind their back, and fencing does the rest. */
  abandonAll(error: Error): void {
    this.#epoch++;
    for (const entry of this.#entries.values()) {
      if (entry.at === 'served') this.#lost(entry.topic, error);
    }
  }

  /** Unloads everything; nothing is loaded any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const work = [...this.#entries].map(async ([full, entry]) => {
      if (entry.at === 'opening') await entry.opened.catch(() => {});
      const now = this.#entries.get(full);
      if (now?.at === 'served') {
        await this.#end(full, now.bundle, async () => {
          await now.topic.close('unloaded');
          await now.topic.log.close();
        }).catch((error: unknown) => this.#parts.logger.warn({ topic: full, error }, 'a topic did not close cleanly'));
      } else if (now?.at === 'ending') {
        await now.ended;
      }
    });
    await Promise.all(work);
  }

  /** Waits for what is happening to a topic right now; its entry if it is served then. */
  async #settled(name: TopicName): Promise<Entry | undefined> {
    for (;;) {
      const entry = this.#entries.get(name.full);
      if (entry === undefined || entry.at === 'served') return entry;
      if (entry.at === 'ending') await entry.ended;
      else await entry.opened.catch(() => {});
    }
  }

  async #open(name: TopicName, creation: Creation): Promise<PersistentTopic> {
    if (this.#isClosed) throw topicErrors.UNAVAILABLE(name.full, 'this broker is shutting down');
    const opened = Promise.resolve().then(() => this.#openNow(name, creation, entry));
    const entry: OpeningEntry = { at: 'opening', opened, bundle: undefined };
    this.#entries.set(name.full, entry);
    return opened;
  }

  async #openNow(name: TopicName, creation: Creation, entry: OpeningEntry): Promise<PersistentTopic> {
    try {
      const topic = await this.#openTopic(name, creation, entry);
      this.#entries.set(name.full, { at: 'served', topic, bundle: entry.bundle });
      return topic;
    } catch (error) {
      this.#entries.delete(name.full);
      throw asUnavailable(name, error);
    }
  }

  async #openTopic(name: TopicName, creation: Creation, entry: OpeningEntry): Promise<PersistentTopic> {
    const { ledgers, ownership, clock, ledgerOptions, logger } = this.#parts;
    const epoch = this.#epoch;
    const startMs = clock.monoMs();
    const logName = managedLedgerName(name);
    // Before the claim: what is asked about names that lead nowhere must leave nothing behind, here or in the metadata.
    if (!(await ledgers.exists(logName))) await this.#checkCreatable(name, creation);
    entry.bundle = await ownership.claim(name);
    const log = await ledgers.open(logName, ledgerOptions);
    if (epoch !== this.#epoch || this.#isClosed) {
      await log.close().catch(() => {});
      throw topicErrors.UNAVAILABLE(name.full, this.#isClosed ? 'this broker is shutting down' : 'the metadata session was lost');
    }
    logger.info({ topic: name.full, tookMs: Math.round(clock.monoMs() - startMs) }, 'topic loaded');
    return new PersistentTopic(this.#host, name, log);
  }

  async #checkCreatable(name: TopicName, creation: Creation): Promise<void> {
    if (creation === 'never') throw topicErrors.NOT_FOUND(name.full);
    if (heartbeatBroker(name) !== undefined) return;
    if (creation === 'automatic' && this.#tombstones.has(name.full)) throw topicErrors.RECENTLY_DELETED(name.full);
    const policies = await this.#parts.policies(name.namespaceName);
    if (policies === undefined || policies.deleted === true) throw topicErrors.NAMESPACE_NOT_FOUND();
  }

  async #deleteServed(topic: PersistentTopic, bundle: string | undefined, force: boolean): Promise<void> {
    const { full } = topic.name;
    const count = topic.connectionsCount;
    if (count > 0) {
      if (!force) throw topicErrors.IN_USE(count);
      this.#tombstones.add(full);
    }
    await this.#end(full, bundle, async () => {
      await topic.close('topic-deleted');
      await topic.log.delete();
    });
    this.#parts.logger.info({ topic: full }, 'topic deleted');
  }

  #lost(topic: PersistentTopic, error: Error): void {
    const { full } = topic.name;
    topic.abort(error);
    const entry = this.#entries.get(full);
    if (entry?.at !== 'served' || entry.topic !== topic) return;
    this.#parts.logger.warn({ topic: full, error }, 'topic given up');
    this.#end(full, entry.bundle, () => topic.log.close()).catch((failure: unknown) =>
      this.#parts.logger.debug({ topic: full, error: failure }, 'the log of a topic given up did not close cleanly'),
    );
  }

  /** Runs the end of a topic; whoever wants it meanwhile waits. */
  async #end(full: string, bundle: string | undefined, work: () => Promise<void>): Promise<void> {
    const done = work();
    const settle = () => {
      if (this.#entries.get(full) === entry) this.#entries.delete(full);
    };
    const entry: Entry = { at: 'ending', ended: done.then(settle, settle), bundle };
    this.#entries.set(full, entry);
    await entry.ended;
    await done;
  }

  /** Whether another topic needs the bundle; one whose bundle is not known yet may. */
  #isUsed(bundle: string, except: string): boolean {
    for (const [full, entry] of this.#entries) {
      if (full !== except && (entry.bundle === bundle || entry.bundle === undefined)) return true;
    }
    return false;
  }
}

function checkSupported(name: TopicName): void {
  if (name.domain !== 'persistent') throw topicErrors.UNSUPPORTED('a non-persistent topic');
  if (name.partition !== undefined) throw topicErrors.UNSUPPORTED(`a partitioned topic (${name.local} is a partition's name)`);
}

/** What passes by itself is one thing for those who want a topic: it is unavailable right now. */
function asUnavailable(name: TopicName, error: unknown): unknown {
  if (!(error instanceof DaybookError) || error.retry !== 'later' || error.code.startsWith('TOPIC_')) return error;
  return topicErrors.UNAVAILABLE(name.full, error.message, { cause: error });
}
