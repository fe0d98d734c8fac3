import { readAuditor } from '@daybook/ledger/repair';
import { createCookieRecords, decodeBookieRecord, paths, type RegisteredBookie, readInstanceId } from '@daybook/metadata';
import { bookieId, type LedgerId, type LedgerMetadata } from '@daybook/proto';
import { payloadText } from '../ledger/ledger-commands.js';
import type { ClusterSession } from './cluster-session.js';
import { shellErrors } from './errors.js';

/** What operators ask a cluster, for the shell and for the HTTP service alike. */
export interface ClusterInfo {
  instanceId: string;
  auditorElected: boolean;
  auditorId: string | undefined;
  clusterUnderReplicated: boolean;
  ledgerReplicationEnabled: boolean;
  totalBookiesCount: number;
  writableBookiesCount: number;
  readonlyBookiesCount: number;
  unavailableBookiesCount: number;
}

export async function clusterInfo(session: ClusterSession): Promise<ClusterInfo> {
  const { store, registry } = session;
  const { settings, underReplication } = await session.repair();
  const auditorId = await readAuditor(store);
  const known = new Set([...(await createCookieRecords(store).list()), ...registry.list().map((bookie) => bookie.bookieId)]);
  const writable = registry.list().filter((bookie) => bookie.isWritable).length;
  return {
    instanceId: await readInstanceId(store),
    auditorElected: auditorId !== undefined,
    auditorId,
    clusterUnderReplicated: !(await underReplication.isEmpty()),
    ledgerReplicationEnabled: await settings.isEnabled(),
    totalBookiesCount: known.size,
    writableBookiesCount: writable,
    readonlyBookiesCount: registry.list().length - writable,
    unavailableBookiesCount: known.size - registry.list().length,
  };
}

export interface KnownBookie {
  bookieId: string;
  state: 'rw' | 'ro' | 'down';
  address: string;
  httpAddress: string;
}

/** Of `rw` and `ro` those that are up; `all`: every bookie that has a cookie, too. */
export async function listBookies({ registry, store }: ClusterSession, which: 'rw' | 'ro' | 'all'): Promise<KnownBookie[]> {
  const up = registry.list().map(({ bookieId: id, address, httpAddress, isWritable }): KnownBookie => {
    return { bookieId: id, state: isWritable ? 'rw' : 'ro', address, httpAddress };
  });
  if (which !== 'all') return up.filter(({ state }) => state === which);
  const down = (await createCookieRecords(store).list()).filter((id) => !up.some((bookie) => bookie.bookieId === id));
  return [...up, ...down.map((id): KnownBookie => ({ bookieId: id, state: 'down', address: '', httpAddress: '' }))].sort((a, b) =>
    a.bookieId < b.bookieId ? -1 : 1,
  );
}

export interface BookieSpace {
  bookieId: string;
  free: number | undefined;
  total: number | undefined;
  /** Why it is not known. */
  problem?: string;
}

/** Space on the disks of all bookies that are up, as they say themselves. */
export async function bookieSpaces({ registry, bookies }: ClusterSession): Promise<BookieSpace[]> {
  return Promise.all(
    registry.list().map(async ({ bookieId: id }): Promise<BookieSpace> => {
      const reply = await bookies.get(id)?.service.info();
      if (reply === undefined || reply.code !== 'OK')
        return { bookieId: id, free: undefined, total: undefined, problem: reply?.code ?? 'UNAVAILABLE' };
      return { bookieId: id, free: reply.freeBytes, total: reply.totalBytes };
    }),
  );
}

export function findBookie({ registry }: ClusterSession, id: string): RegisteredBookie {
  const found = registry.get(bookieId(id));
  const names = registry.list().map((bookie) => bookie.bookieId);
  if (found === undefined) throw shellErrors.NO_SUCH_BOOKIE(id, names.join(', '));
  return found;
}

/** A ledger's record for people: without its password. */
export function metadataFacts(id: LedgerId, metadata: LedgerMetadata): object {
  const { password: _secret, creationToken: _token, customMetadata, createdAtMs, segments, namesNoDigest: _old, ...plain } = metadata;
  return {
    ledgerId: id,
    ...plain,
    created: createdAtMs === undefined ? undefined : new Date(createdAtMs).toISOString(),
    segments: segments.map(({ firstEntryId, ensemble }) => ({ firstEntryId, ensemble })),
    customMetadata: Object.fromEntries([...customMetadata].map(([name, value]) => [name, payloadText(Buffer.from(value))])),
  };
}

/** The registered record itself, also of bookies that are not ours. */
export async function endpointFacts({ store }: ClusterSession, id: string): Promise<object | undefined> {
  const name = bookieId(id);
  for (const [path, isWritable] of [
    [paths.availableBookie(name), true],
    [paths.readOnlyBookie(name), false],
  ] as const) {
    const found = await store.get(path);
    if (found !== undefined) return decodeBookieRecord(name, found.value, isWritable) ?? { bookieId: name, isWritable, isDaybook: false };
  }
  return undefined;
}
