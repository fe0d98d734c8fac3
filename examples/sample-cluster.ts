import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bookie, bookieConfigSchema, bookieMetadata, openBookie } from '@daybook/bookie';
import { BookiePool, createLedgerClient, type LedgerClient } from '@daybook/ledger';
import { connectGrpcBookie } from '@daybook/ledger/grpc';
import { createBookieRegistry, createLedgerRecords, type MetadataStore, openMetadataStore } from '@daybook/metadata';
import type { BookieId } from '@daybook/proto';
import { silentLogger } from '@daybook/runtime';
import { RealClock, RealDisk, RealRandom } from '@daybook/runtime/real';

const clock = new RealClock();
const disk = new RealDisk();
const random = new RealRandom();

export interface SampleCluster extends AsyncDisposable {
  client: LedgerClient;
}

/** A ledger client for the cluster that a metadata URL names; without one for three bookies in this process, which vanish with it. */
export async function openSampleCluster(metadataUrl: string | undefined): Promise<SampleCluster> {
  const store = await openMetadataStore(metadataUrl ?? 'memory:', { clock, disk });
  const embedded = metadataUrl === undefined ? await openEmbeddedBookies(store, ['b1', 'b2', 'b3']) : undefined;
  const registry = await createBookieRegistry(store, { clock });
  const bookies = new BookiePool({
    clock,
    registry,
    connect: (registered) => {
      const inProcess = embedded?.bookies.get(registered.bookieId);
      return inProcess === undefined ? connectGrpcBookie(registered, { clock }) : { service: inProcess.service, close: () => undefined };
    },
  });
  const client = createLedgerClient({ clock, random, records: createLedgerRecords(store), registry, bookies });
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      bookies.close();
      registry.close();
      await embedded?.close();
      await store.close();
    },
  };
}

async function openEmbeddedBookies(store: MetadataStore, names: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-sample-'));
  const bookies = new Map<BookieId, Bookie>();
  const onFailure = (error: unknown): never => {
    throw error;
  };
  for (const name of names) {
    const directories = { journalDirectories: [join(folder, name, 'journal')], ledgerDirectories: [join(folder, name, 'ledgers')] };
    const config = bookieConfigSchema.parse({ bookieId: name, ...directories });
    const metadata = bookieMetadata(store, { clock, random, logger: silentLogger, onFailure });
    const bookie = await openBookie({ config, clock, random, disk, logger: silentLogger, metadata, onFatal: onFailure });
    bookies.set(bookie.identity.bookieId, bookie);
    await bookie.register({ address: '', httpAddress: '' });
  }
  return {
    bookies,
    async close() {
      for (const bookie of bookies.values()) await bookie.close();
      await rm(folder, { recursive: true });
    },
  };
}
