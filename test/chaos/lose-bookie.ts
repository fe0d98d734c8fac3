import { BookiePool, createLedgerClient, type LedgerClient } from '@daybook/ledger';
import { connectGrpcBookie } from '@daybook/ledger/grpc';
import { type BookieRegistry, createBookieRegistry, createLedgerRecords, type LedgerRecords, type MetadataStore } from '@daybook/metadata';
import { ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import { openZooKeeperStore } from '@daybook/metadata/zookeeper';
import type { EntryId, LedgerId, LedgerMetadata } from '@daybook/proto';
import { RealClock, RealRandom } from '@daybook/runtime/real';
import { DaybookProcess, pause, temporaryFolder, until } from './processes.js';

export interface LoseBookieOptions {
  log: (line: string) => void;
  closedLedgers: number;
  entriesPerLedger: number;
}

export interface LoseBookieResult {
  problems: string[];
  /** From the kill until every copy of the closed ledgers was on bookies that are up. */
  closedWholeMs: number;
  /** The same for the ledgers whose writer had died with them open. */
  openWholeMs: number;
  entriesCopied: number;
}

const password = Buffer.from('chaos');
const boundMs = 60_000;
const sessionTimeoutMs = 4_000;

/**
 * Four bookies that repair beside their own work; ledgers that are closed, and one left open by a dead writer. One bookie is killed and never comes back. All copies
 * must be back within a bounded time: looked at from outside, by what bookies list and by reading everything with the others gone from the way.
 */
export async function loseBookie(options: LoseBookieOptions): Promise<LoseBookieResult> {
  const settings = { autoRecoveryDaemonEnabled: 'true', openLedgerRereplicationGracePeriod: '3000' };
  return await withBookies(settings, ({ metadata, bookies }) => run(options, metadata, bookies));
}

export interface RunningBookies {
  metadata: string;
  bookies: ReadonlyMap<string, DaybookProcess>;
}

/** ZooKeeper and four bookies, each a process of its own; all of them are gone afterwards. */
export async function withBookies<T>(settings: Readonly<Record<string, string>>, use: (running: RunningBookies) => Promise<T>): Promise<T> {
  const zookeeper = await ZooKeeperServer.start();
  const folder = temporaryFolder();
  const metadata = `zk://${zookeeper.address}/daybook`;
  const bookies = new Map<string, DaybookProcess>();
  try {
    for (let i = 1; i <= 4; i++) bookies.set(`b${i}`, startBookie(metadata, `${folder.path}/b${i}`, `b${i}`, settings));
    for (const [name, bookie] of bookies) await until(`${name} is ready`, 30_000, () => bookie.output.includes('is ready: gRPC'));
    return await use({ metadata, bookies });
  } finally {
    await Promise.all([...bookies.values()].map((bookie) => bookie.kill9()));
    await zookeeper.stop();
    folder.remove();
  }
}

function startBookie(metadata: string, data: string, bookieId: string, settings: Readonly<Record<string, string>>): DaybookProcess {
  const words = ['bookie', '--metadata', metadata, '--data', data, '--bookie-id', bookieId, '--port', '0', '--http-port', '0'];
  const all = { metadataSessionTimeoutMs: String(sessionTimeoutMs), ...settings };
  return new DaybookProcess([...words, ...Object.entries(all).flatMap(([name, value]) => ['--set', `${name}=${value}`])]);
}

async function run(options: LoseBookieOptions, metadata: string, bookies: ReadonlyMap<string, DaybookProcess>): Promise<LoseBookieResult> {
  const problems: string[] = [];
  const watcher = await openView(metadata);
  const writer = await openView(metadata);
  const closed: LedgerId[] = [];
  for (let i = 0; i < options.closedLedgers; i++) closed.push(await writeLedger(writer.client, options.entriesPerLedger, true));
  const open = await writeLedger(writer.client, options.entriesPerLedger, false);
  await pause(200);
  await writer.close();
  const [victim] = (await metadataOf(watcher, open)).segments.at(-1)?.ensemble ?? [];
  options.log(`${closed.length} closed ledgers and one open one; ${victim} is killed for good`);
  const killedAt = performance.now();
  await bookies.get(victim as string)?.kill9();
  await until('closed ledgers have all their copies', boundMs, async () => (await holesOf(watcher, closed)).length === 0);
  const closedWholeMs = Math.round(performance.now() - killedAt);
  options.log(`closed ledgers whole after ${closedWholeMs} ms`);
  await until('the open ledger was closed and has all its copies', boundMs, async () => {
    return (await metadataOf(watcher, open)).state === 'CLOSED' && (await holesOf(watcher, [open])).length === 0;
  });
  const openWholeMs = Math.round(performance.now() - killedAt);
  options.log(`the open one after ${openWholeMs} ms`);
  for (const ledgerId of [...closed, open]) {
    const reader = await watcher.client.openWithRecovery(ledgerId, { password });
    if (reader.lastAddConfirmed < options.entriesPerLedger - 1) problems.push(`ledger ${ledgerId} ends at ${reader.lastAddConfirmed}`);
    const entries = await reader.read(0 as EntryId, reader.lastAddConfirmed);
    const wrong = entries.find(({ entryId, payload }) => !payload.equals(payloadOf(ledgerId, entryId)));
    if (wrong !== undefined) problems.push(`ledger ${ledgerId}: entry ${wrong.entryId} has other bytes`);
    if (JSON.stringify((await metadataOf(watcher, ledgerId)).segments).includes(`"${victim}"`))
      problems.push(`ledger ${ledgerId} still names ${victim}`);
  }
  const entriesCopied = await copiedBy([...bookies].flatMap(([name, bookie]) => (name === victim ? [] : [bookie])));
  await watcher.close();
  return { problems, closedWholeMs, openWholeMs, entriesCopied };
}

export interface View {
  store: MetadataStore;
  client: LedgerClient;
  records: LedgerRecords;
  registry: BookieRegistry;
  pool: BookiePool;
  close(): Promise<void>;
}

/** A ledger client of this process. */
export async function openView(metadata: string): Promise<View> {
  const clock = new RealClock();
  const store = await openZooKeeperStore({ url: metadata, clock, metadataSessionTimeoutMs: sessionTimeoutMs });
  const registry = await createBookieRegistry(store, { clock });
  const pool = new BookiePool({ clock, registry, connect: (bookie) => connectGrpcBookie(bookie, { clock }) });
  const records = createLedgerRecords(store);
  const client = createLedgerClient({ clock, random: new RealRandom(), records, registry, bookies: pool });
  const close = async (): Promise<void> => {
    await client.close();
    pool.close();
    registry.close();
    await store.close();
  };
  return { store, client, records, registry, pool, close };
}

export async function writeLedger(client: LedgerClient, count: number, isClosed: boolean): Promise<LedgerId> {
  const writer = await client.create({ ensembleSize: 3, writeQuorumSize: 3, ackQuorumSize: 2, password });
  const confirmed = new Promise<void>((resolve, reject) => {
    writer.listen({
      confirmed: (last) => {
        if (last === count - 1) resolve();
      },
      failed: reject,
    });
  });
  confirmed.catch(() => undefined);
  for (let i = 0; i < count; i++) {
    while (writer.isFull) await new Promise<void>((resolve) => writer.onDrain(resolve));
    writer.push(payloadOf(writer.ledgerId, i));
    // Batches of a size as a busy writer makes them.
    if (i % 64 === 63) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await confirmed;
  if (isClosed) await writer.close();
  return writer.ledgerId;
}

function payloadOf(ledgerId: number, entryId: number): Buffer {
  return Buffer.alloc(1_024, `ledger ${ledgerId} entry ${entryId};`);
}

async function metadataOf({ records }: View, ledgerId: LedgerId): Promise<LedgerMetadata> {
  const stored = await records.read(ledgerId);
  if (stored === undefined) throw new Error(`there is no ledger ${ledgerId}`);
  return stored.metadata;
}

/** With E = Qw every member has every entry of its segment; who is not registered has nothing. */
async function holesOf(view: View, ledgerIds: readonly LedgerId[]): Promise<string[]> {
  const holes: string[] = [];
  for (const ledgerId of ledgerIds) {
    const { segments, lastEntryId } = await metadataOf(view, ledgerId);
    for (const [i, { firstEntryId, ensemble }] of segments.entries()) {
      const last = (segments[i + 1]?.firstEntryId ?? lastEntryId + 1) - 1;
      for (const bookieId of ensemble) {
        const bookie = view.registry.get(bookieId) === undefined ? undefined : view.pool.get(bookieId);
        const reply = await bookie?.service.listEntries(ledgerId);
        const isWhole = last < firstEntryId || reply?.runs.some((run) => run.first <= firstEntryId && run.last >= last) === true;
        if (bookie === undefined || !isWhole) holes.push(`${ledgerId}: ${bookieId}`);
      }
    }
  }
  return holes;
}

async function copiedBy(bookies: readonly DaybookProcess[]): Promise<number> {
  let copied = 0;
  for (const bookie of bookies) {
    const base = /http:\/\/([\d.]+:\d+)\/metrics/.exec(bookie.output)?.[1];
    const text = await (await fetch(`http://${base}/metrics`)).text();
    copied += Number(/^replication_worker_NUM_ENTRIES_REPLICATED (\d+)/m.exec(text)?.[1] ?? 0);
  }
  return copied;
}
