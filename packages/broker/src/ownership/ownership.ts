import { type MetadataStore, metadataErrors, paths } from '@daybook/metadata';
import type { TopicName } from '@daybook/proto';
import { errorCode, type Logger } from '@daybook/runtime';
import type { Owner } from '../broker-api.js';
import type { Policies } from '../policies/namespace-policies.js';
import { topicErrors } from '../topic/errors.js';
import { bundleOf, bundlesCountOf } from './bundles.js';
import { claimEphemeral } from './live-brokers.js';
import { chooseBroker, heartbeatBroker } from './lookup.js';

export interface OwnershipParts {
  store: MetadataStore;
  brokerId: string;
  logger: Logger;
  /** What a namespace without a record (or bundles in it) has. */
  bundlesCountDefault: number;
  policies: (namespaceName: string) => Promise<Policies | undefined>;
  liveBrokers: () => Promise<readonly string[]>;
}

type BundleState = { at: 'claiming'; done: Promise<void> } | { at: 'owned' } | { at: 'releasing'; done: Promise<void> };

/** How many namespaces' bundle counts are remembered for {@link Ownership.bundleOf}. */
const countsMax = 10_000;

/**
 * Which topics this broker serves: those whose bundle key it holds. The key is ephemeral, so it ends with the metadata session; then everything is given up
 * at once ({@link forgetAll}), and whoever claims next fences the logs. Who holds a key is read, never remembered, except for our own.
 */
export class Ownership {
  readonly #parts: OwnershipParts;
  /** By key path. */
  readonly #bundles = new Map<string, BundleState>();
  readonly #counts = new Map<string, number>();
  /** Counts the sessions lost: what was begun in an earlier one is void. */
  #epoch = 0;

  constructor(parts: OwnershipParts) {
    this.#parts = parts;
  }

  /** The bundle a topic falls into, by what is known of its namespace. */
  bundleOf(name: TopicName): string {
    if (heartbeatBroker(name) !== undefined) return bundleOf(name, 1);
    return bundleOf(name, this.#counts.get(name.namespaceName) ?? this.#parts.bundlesCountDefault);
  }

  /** Who serves a topic; when nobody does, who should. Claims nothing. */
  async owner(name: TopicName): Promise<Owner> {
    const heartbeat = heartbeatBroker(name);
    if (heartbeat !== undefined) return this.#owner(heartbeat);
    const path = await this.#path(name);
    if (this.#bundles.get(path)?.at === 'owned') return this.#owner(this.#parts.brokerId);
    const found = await this.#parts.store.get(path);
    const holder = found === undefined ? undefined : holderOf(found.value);
    if (holder !== undefined) return this.#owner(holder);
    return this.#owner(chooseBroker(await this.#parts.liveBrokers(), path) ?? this.#parts.brokerId);
  }

  /**
   * Makes this broker the one that serves a topic, and returns the key for {@link release}. `TOPIC_OWNED_ELSEWHERE`: another one was faster;
   * `TOPIC_UNAVAILABLE`: the metadata store cannot say.
   */
  async claim(name: TopicName): Promise<string> {
    const { brokerId, store } = this.#parts;
    const heartbeat = heartbeatBroker(name);
    if (heartbeat === brokerId) return '';
    if (heartbeat !== undefined) throw topicErrors.OWNED_ELSEWHERE(name.full, heartbeat);
    if (store.session !== 'connected') throw topicErrors.UNAVAILABLE(name.full, `the metadata session is ${store.session}`);
    const path = await this.#path(name);
    for (;;) {
      const state = this.#bundles.get(path);
      if (state?.at === 'owned') return path;
      if (state?.at === 'claiming') {
        await state.done;
        return path;
      }
      if (state !== undefined) {
        await state.done;
        continue;
      }
      const done = this.#claim(path, name);
      this.#bundles.set(path, { at: 'claiming', done });
      await done;
      return path;
    }
  }

  /** Gives a bundle up: somebody else may claim it. The caller has closed its topics. */
  async release(path: string): Promise<void> {
    if (this.#bundles.get(path)?.at !== 'owned') return;
    const epoch = this.#epoch;
    const done = this.#release(path).then(
      () => this.#settle(path, epoch, undefined),
      (error: unknown) => {
        // It may still be ours: as long as the key is there nobody else has it.
        this.#settle(path, epoch, { at: 'owned' });
        this.#parts.logger.warn({ bundle: path, error }, 'a bundle could not be given up');
      },
    );
    this.#bundles.set(path, { at: 'releasing', done });
    await done;
  }

  /** A broker that goes gives up what it has, so that nobody waits for its session to time out. */
  async releaseAll(): Promise<void> {
    await Promise.all([...this.#bundles.keys()].map((path) => this.release(path)));
  }

  /** The session is lost, and all keys with it. */
  forgetAll(): void {
    this.#epoch++;
    this.#bundles.clear();
  }

  #owner(brokerId: string): Owner {
    return { brokerId, isSelf: brokerId === this.#parts.brokerId };
  }

  async #path(name: TopicName): Promise<string> {
    const { namespaceName } = name;
    const count = bundlesCountOf(await this.#parts.policies(namespaceName), this.#parts.bundlesCountDefault);
    if (this.#counts.size >= countsMax) this.#counts.clear();
    this.#counts.set(namespaceName, count);
    return paths.bundleOwner(namespaceName, bundleOf(name, count));
  }

  async #claim(path: string, name: TopicName): Promise<void> {
    const epoch = this.#epoch;
    const { store, brokerId, logger } = this.#parts;
    const record = { nativeUrl: null, httpUrl: `http://${brokerId}`, disabled: false, advertisedListeners: {} };
    let other: Buffer | undefined;
    try {
      other = await claimEphemeral(store, path, record, (value) => holderOf(value) === brokerId);
    } catch (error) {
      this.#settle(path, epoch, undefined);
      if (errorCode(error) !== metadataErrors.UNAVAILABLE.code) throw error;
      throw topicErrors.UNAVAILABLE(name.full, 'its ownership cannot be settled', { cause: error });
    }
    if (epoch !== this.#epoch) throw topicErrors.UNAVAILABLE(name.full, 'the metadata session was lost');
    this.#settle(path, epoch, other === undefined ? { at: 'owned' } : undefined);
    if (other !== undefined) throw topicErrors.OWNED_ELSEWHERE(name.full, holderOf(other) ?? 'of an unknown name');
    logger.info({ bundle: path }, 'serving a bundle');
  }

  async #release(path: string): Promise<void> {
    const { store, logger } = this.#parts;
    const found = await store.get(path);
    if (!found?.ownEphemeral) return;
    try {
      await store.delete(path, found.version);
    } catch (error) {
      if (!metadataErrors.NOT_FOUND.is(error) && !metadataErrors.BAD_VERSION.is(error)) throw error;
    }
    logger.info({ bundle: path }, 'gave a bundle up');
  }

  #settle(path: string, epoch: number, state: BundleState | undefined): void {
    if (epoch !== this.#epoch) return;
    if (state === undefined) this.#bundles.delete(path);
    else this.#bundles.set(path, state);
  }
}

/** The broker id in an ownership record. */
function holderOf(value: Buffer): string | undefined {
  try {
    const record: unknown = JSON.parse(value.toString('utf8'));
    const url = typeof record === 'object' && record !== null && 'httpUrl' in record ? record.httpUrl : undefined;
    return typeof url === 'string' ? url.replace(/^https?:\/\//, '') : undefined;
  } catch {
    return undefined;
  }
}
