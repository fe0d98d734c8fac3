import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Bookie, bookieConfigSchema, bookieMetadata, openBookie } from '@daybook/bookie';
import { type BookieServer, startBookieServer } from '@daybook/bookie/grpc';
import { BookiePool, createLedgerClient, type LedgerClient } from '@daybook/ledger';
import { connectGrpcBookie } from '@daybook/ledger/grpc';
import { createBookieRegistry, createLedgerRecords, MemoryTree, type MetadataStore, openMetadataStore } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';
import { silentLogger } from '@daybook/runtime';
import { RealClock, RealDisk, RealRandom } from '@daybook/runtime/real';
import { connectSharedMetadata, type SharedMetadataServer, shareMetadata } from './shared-metadata.js';

export const clock = new RealClock();
export const random = new RealRandom();
const disk = new RealDisk();

/** What a process of an application has: its own session with the metadata, its own ledger client. */
export interface SampleNode extends AsyncDisposable {
  store: MetadataStore;
  ledgers: LedgerClient;
}

export interface SampleCluster extends AsyncDisposable {
  /** A client for all who need but one. */
  client: LedgerClient;
  /** Another application process, as it were: with a session of its own. */
  connect(): Promise<SampleNode>;
  /** Where processes of their own find the cluster: {@link connectNode}. Only of a cluster that was given or is shared. */
  metadataUrl: string | undefined;
}

/** `--metadata zk://host:port/path` of the command line. */
export function metadataOption(): string | undefined {
  const { values, positionals } = parseArgs({ options: { metadata: { type: 'string' } }, allowPositionals: true, strict: false });
  const url = values.metadata ?? positionals.find((text) => text.startsWith('zk://'));
  return typeof url === 'string' ? url : undefined;
}

/**
 * The cluster that a metadata URL names; without one three bookies in this process, on a temporary folder, which vanish with it. With `isShared` other processes reach
 * those, too.
 */
export async function openSampleCluster(metadataUrl: string | undefined, { isShared = false } = {}): Promise<SampleCluster> {
  const embedded = metadataUrl === undefined ? await startEmbedded(isShared) : undefined;
  const connect = () => (embedded === undefined ? connectNode(metadataUrl as string) : embedded.connect());
  const node = await connect();
  return {
    client: node.ledgers,
    connect,
    metadataUrl: metadataUrl ?? embedded?.metadataUrl,
    async [Symbol.asyncDispose]() {
      await node[Symbol.asyncDispose]();
      await embedded?.close();
    },
  };
}

/** From a process of its own; `tcp://host:port` is a shared sample cluster. */
export async function connectNode(metadataUrl: string): Promise<SampleNode> {
  const store = metadataUrl.startsWith('tcp://') ? await connectSharedMetadata(metadataUrl) : await openMetadataStore(metadataUrl, { clock, disk });
  return openNode(store, new Map());
}

async function openNode(store: MetadataStore, inProcess: ReadonlyMap<BookieId, Bookie>): Promise<SampleNode> {
  const registry = await createBookieRegistry(store, { clock });
  const bookies = new BookiePool({
    clock,
    registry,
    connect: (registered) => {
      const bookie = inProcess.get(registered.bookieId);
      return bookie === undefined ? connectGrpcBookie(registered, { clock }) : { service: bookie.service, close: () => undefined };
    },
  });
  const ledgers = createLedgerClient({ clock, random, records: createLedgerRecords(store), registry, bookies });
  return {
    store,
    ledgers,
    async [Symbol.asyncDispose]() {
      await ledgers.close();
      bookies.close();
      registry.close();
      await store.close();
    },
  };
}

async function startEmbedded(isShared: boolean) {
  const tree = new MemoryTree();
  const store = tree.openSession({ clock });
  const folder = await mkdtemp(join(tmpdir(), 'daybook-sample-'));
  const bookies = new Map<BookieId, Bookie>();
  const servers: BookieServer[] = [];
  for (const name of ['b1', 'b2', 'b3']) {
    const bookie = await startBookie(store, join(folder, name), name);
    bookies.set(bookie.identity.bookieId, bookie);
    const server = isShared
      ? await startBookieServer({ service: bookie.service, identity: bookie.identity, clock, logger: silentLogger, host: '127.0.0.1', port: 0 })
      : undefined;
    if (server !== undefined) servers.push(server);
    await bookie.register({ address: server === undefined ? '' : `127.0.0.1:${server.port}`, httpAddress: '' });
  }
  const metadata: SharedMetadataServer | undefined = isShared ? await shareMetadata(() => tree.openSession({ clock })) : undefined;
  return {
    metadataUrl: metadata?.url,
    connect: () => openNode(tree.openSession({ clock }), bookies),
    async close() {
      await metadata?.close();
      for (const server of servers) await server.close();
      for (const bookie of bookies.values()) await bookie.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function startBookie(store: MetadataStore, folder: string, name: string): Promise<Bookie> {
  const onFailure = (error: unknown): never => {
    throw error;
  };
  const config = bookieConfigSchema.parse({
    bookieId: name,
    journalDirectories: [join(folder, 'journal')],
    ledgerDirectories: [join(folder, 'ledgers')],
  });
  const metadata = bookieMetadata(store, { clock, random, logger: silentLogger, onFailure });
  return openBookie({ config, clock, random, disk, logger: silentLogger, metadata, onFatal: onFailure });
}
