import { type BookieRegistry, type BookieTopology, type LedgerRecords, metadataErrors, type VersionedLedger } from '@daybook/metadata';
import { type BookieId, createDigest, type EntryId, type LedgerId, type LedgerMetadata } from '@daybook/proto';
import { type Clock, type Logger, type Random, silentLogger } from '@daybook/runtime';
import { EnsembleAdvWriter } from './adv-writer.js';
import type { BookiePool } from './bookie-pool.js';
import { lastSegment } from './distribution.js';
import { ledgerErrors } from './errors.js';
import { readLastAddConfirmed } from './lac.js';
import type {
  AdvLedgerWriter,
  CreateAdvLedgerOptions,
  CreateLedgerOptions,
  LedgerClient,
  LedgerReader,
  LedgerWriter,
  OpenLedgerOptions,
} from './ledger-api.js';
import { defaultLedgerClientOptions, type LedgerClientOptions } from './ledger-client-options.js';
import { EnsembleReader, type ReaderDependencies } from './ledger-reader.js';
import { EnsembleWriter, type WriterDependencies, writerLimits } from './ledger-writer.js';
import { Placement } from './placement.js';
import { checkQuorumSizes, type QuorumSizes } from './quorum.js';
import { regionRuleProblem } from './rack-placement.js';
import { type RecoveryDependencies, recoverLedger } from './recovery-op.js';
import type { MemberIdentity } from './writer-state.js';

export interface LedgerClientDependencies {
  clock: Clock;
  random: Random;
  records: LedgerRecords;
  registry: BookieRegistry;
  /** Shared by all clients of a process; whoever made it closes it, after the clients. */
  bookies: BookiePool;
  /** Where bookies stand; without it all stand in one rack. Whoever made it closes it. */
  topology?: BookieTopology;
  logger?: Logger;
  options?: Partial<LedgerClientOptions>;
}

export function createLedgerClient(dependencies: LedgerClientDependencies): LedgerClient {
  return new EnsembleClient(dependencies);
}

const noPassword = new Uint8Array(0);

type SharedDependencies = WriterDependencies & ReaderDependencies & RecoveryDependencies;

class EnsembleClient implements LedgerClient {
  readonly #d: SharedDependencies;
  readonly #random: Random;
  readonly #writers = new Set<EnsembleWriter>();
  readonly #readers = new Set<EnsembleReader>();
  readonly #registryWatch: { stop(): void };
  #isClosed = false;

  constructor(dependencies: LedgerClientDependencies) {
    const { clock, random, records, registry, bookies } = dependencies;
    const options = { ...defaultLedgerClientOptions, ...dependencies.options };
    const { topology } = dependencies;
    const placement = new Placement({ registry, health: bookies, random, topology, rule: options, local: options.networkLocation });
    const logger = dependencies.logger ?? silentLogger;
    this.#random = random;
    const limits = writerLimits(options, placement);
    const writerEnded = (writer: EnsembleWriter) => void this.#writers.delete(writer);
    const distanceTo = options.networkLocation === undefined ? undefined : (bookieId: BookieId) => placement.distanceTo(bookieId);
    this.#d = { clock, records, registry, bookies, placement, logger, ...options, options, limits, writerEnded, distanceTo };
    this.#registryWatch = registry.onChange(() => {
      for (const writer of this.#writers) writer.registryChanged();
    });
  }

  create(options: CreateLedgerOptions): Promise<LedgerWriter> {
    return this.#create(options);
  }

  async createAdv(options: CreateAdvLedgerOptions): Promise<AdvLedgerWriter> {
    return new EnsembleAdvWriter(await this.#create(options), this.#d.options.windowBytes);
  }

  async #create(options: CreateAdvLedgerOptions): Promise<EnsembleWriter> {
    this.#checkOpen();
    checkQuorumSizes(options);
    const regionProblem = regionRuleProblem(options, this.#d.options.minRegionsForDurability);
    if (regionProblem !== undefined) throw ledgerErrors.BAD_QUORUM(regionProblem);
    const { sizes, members } = this.#chooseEnsemble(options);
    const { ledgerId, stored } = await this.#createRecord(options.ledgerId, this.#newMetadata(sizes, members, options));
    this.#checkOpen();
    const isDeferredSync = options.writeFlags?.includes('DEFERRED_SYNC') === true;
    const writer = new EnsembleWriter(this.#d, { ledgerId, stored, members, isDeferredSync });
    this.#writers.add(writer);
    return writer;
  }

  /** An id that somebody chose for himself may be in the way of one that the store gives out: then the next one is taken. */
  async #createRecord(chosenId: LedgerId | undefined, metadata: LedgerMetadata): Promise<{ ledgerId: LedgerId; stored: VersionedLedger }> {
    const { records } = this.#d;
    for (;;) {
      const ledgerId = chosenId ?? (await records.nextLedgerId());
      try {
        return { ledgerId, stored: await records.create(ledgerId, metadata) };
      } catch (error) {
        if (!metadataErrors.EXISTS.is(error)) throw error;
        if (chosenId !== undefined) throw ledgerErrors.EXISTS(chosenId, { cause: error });
      }
    }
  }

  async openWithRecovery(ledgerId: LedgerId, options: OpenLedgerOptions): Promise<LedgerReader> {
    const stored = await recoverLedger(this.#d, ledgerId, await this.#readRecord(ledgerId, options));
    return this.#newReader(ledgerId, stored, stored.metadata.lastEntryId);
  }

  async openWithoutRecovery(ledgerId: LedgerId, options: OpenLedgerOptions): Promise<LedgerReader> {
    const stored = await this.#readRecord(ledgerId, options);
    const { metadata } = stored;
    if (metadata.state === 'CLOSED') return this.#newReader(ledgerId, stored, metadata.lastEntryId);
    return this.#newReader(ledgerId, stored, await this.#learnEnd(ledgerId, metadata));
  }

  async delete(ledgerId: LedgerId): Promise<void> {
    this.#checkOpen();
    await this.#d.records.delete(ledgerId);
  }

  list(): AsyncIterable<LedgerId> {
    this.#checkOpen();
    return this.#d.records.list();
  }

  async metadata(ledgerId: LedgerId): Promise<LedgerMetadata> {
    this.#checkOpen();
    return (await this.#read(ledgerId)).metadata;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#registryWatch.stop();
    for (const writer of [...this.#writers]) writer.abandon(ledgerErrors.CLIENT_CLOSED());
    await Promise.all([...this.#readers].map((reader) => reader.close()));
  }

  /** With too few bookies to tell: the end of the segment before. Who knows better (the owner) can still read what is on the others. */
  async #learnEnd(ledgerId: LedgerId, metadata: LedgerMetadata): Promise<EntryId> {
    try {
      return await readLastAddConfirmed(this.#d, { ledgerId, metadata, digest: createDigest(metadata.digestType, metadata.password) });
    } catch (error) {
      if (!ledgerErrors.LAC_UNKNOWN.is(error)) throw error;
      return (lastSegment(metadata).firstEntryId - 1) as EntryId;
    }
  }

  /** Picks the bookies, or throws before anything is written. */
  #chooseEnsemble(options: CreateLedgerOptions): { sizes: QuorumSizes; members: readonly MemberIdentity[] } {
    const { ensembleSize, writeQuorumSize, ackQuorumSize } = options;
    const { placement, registry, logger } = this.#d;
    const least = this.#leastEnsembleSize(options);
    const size = Math.max(least, Math.min(ensembleSize, placement.writableCount));
    const sizes = { ensembleSize: size, writeQuorumSize: Math.min(writeQuorumSize, size), ackQuorumSize };
    const chosen = placement.pickEnsemble(sizes);
    if (chosen === undefined) throw ledgerErrors.NOT_ENOUGH_BOOKIES(least, placement.describeWritable(), placement.describeMissing());
    const bookieIds = chosen.members.map((member) => member.bookieId);
    if (chosen.adherence === 'fail') logger.warn({ bookieIds }, 'an ensemble spans fewer racks or regions than the placement rule asks for');
    return { sizes, members: bookieIds.map((bookieId) => ({ bookieId, incarnation: registry.get(bookieId)?.incarnation ?? '' })) };
  }

  #leastEnsembleSize({ ensembleSize, writeQuorumSize, ackQuorumSize, shrinkToAvailable }: CreateLedgerOptions): number {
    if (shrinkToAvailable === true) return ackQuorumSize;
    return this.#d.options.opportunisticStriping ? writeQuorumSize : ensembleSize;
  }

  #newMetadata(sizes: QuorumSizes, members: readonly MemberIdentity[], options: CreateLedgerOptions): LedgerMetadata {
    const ensemble: BookieId[] = members.map((member) => member.bookieId);
    return {
      formatVersion: 3,
      ...sizes,
      state: 'OPEN',
      length: 0,
      lastEntryId: -1 as EntryId,
      segments: [{ firstEntryId: 0 as EntryId, ensemble }],
      digestType: options.digestType ?? 'CRC32C',
      password: options.password.length === 0 ? noPassword : Uint8Array.from(options.password),
      createdAtMs: this.#d.clock.wallMs(),
      customMetadata: new Map(options.customMetadata),
      creationToken: this.#newToken(),
    };
  }

  /** 63 random bits, never 0 (which means none). */
  #newToken(): bigint {
    return (BigInt(this.#random.u32() >>> 1) << 32n) | BigInt(this.#random.u32() | 1);
  }

  async #readRecord(ledgerId: LedgerId, options: OpenLedgerOptions): Promise<VersionedLedger> {
    this.#checkOpen();
    const stored = await this.#read(ledgerId);
    const { password, digestType } = stored.metadata;
    if (options.digestType !== undefined && options.digestType !== digestType) {
      throw ledgerErrors.WRONG_DIGEST(ledgerId, digestType, options.digestType);
    }
    if (Buffer.compare(password, options.password) !== 0) throw ledgerErrors.UNAUTHORIZED(ledgerId);
    return stored;
  }

  async #read(ledgerId: LedgerId): Promise<VersionedLedger> {
    const stored = await this.#d.records.read(ledgerId);
    if (stored === undefined) throw ledgerErrors.NOT_FOUND(ledgerId);
    return stored;
  }

  #newReader(ledgerId: LedgerId, stored: VersionedLedger, lastAddConfirmed: EntryId): LedgerReader {
    const reader = new EnsembleReader(this.#d, { ledgerId, stored, lastAddConfirmed, onClosed: (closed) => this.#readers.delete(closed) });
    this.#readers.add(reader);
    return reader;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw ledgerErrors.CLIENT_CLOSED();
  }
}
