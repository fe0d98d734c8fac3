import { type Bookie, bookieErrors } from '@daybook/bookie';
import { type AdminRoute, bookieRoutes, garbageRoutes } from '@daybook/bookie/admin';
import type { ConnectBookie } from '@daybook/ledger';
import { connectGrpcBookie } from '@daybook/ledger/grpc';
import { createLedgerRecords, type MetadataStore } from '@daybook/metadata';
import type { NodeParts } from '../node-parts.js';
import { clusterRoutes } from './cluster-routes.js';
import { type ClusterSession, openClusterSession } from './cluster-session.js';
import { repairRoutes } from './repair-routes.js';

export interface BookieAdminOptions {
  parts: NodeParts;
  bookie: Bookie;
  store: MetadataStore;
  config: object;
  journalDirectories: readonly string[];
  ledgerDirectories: readonly string[];
  isReady(): boolean;
}

/** All paths of the administration service of a bookie process. */
export function bookieAdmin(options: BookieAdminOptions): { routes: AdminRoute[]; close(): Promise<void> } {
  const { parts, bookie, store } = options;
  const records = createLedgerRecords(store);
  let session: Promise<ClusterSession> | undefined;
  let isClosed = false;
  const open = async (): Promise<ClusterSession> => {
    if (isClosed) throw bookieErrors.CLOSED();
    session ??= openClusterSession({ parts, store, connect: reachingItself(bookie, parts) }).catch((error: unknown) => {
      session = undefined;
      throw error;
    });
    return session;
  };
  const repair = repairRoutes(open);
  return {
    routes: [
      ...garbageRoutes(bookie.garbageCollector, parts.logger),
      ...bookieRoutes({ ...options, ...parts, nextLedgerId: () => records.nextLedgerId() }),
      ...clusterRoutes(open),
      ...repair.routes,
    ],
    close: async () => {
      isClosed = true;
      await repair.close();
      await (await session?.catch(() => undefined))?.close();
    },
  };
}

/** Without a detour over the network. */
function reachingItself(bookie: Bookie, { clock }: NodeParts): ConnectBookie {
  const { bookieId, incarnation } = bookie.identity;
  const itself = { service: bookie.service, close: () => undefined };
  return (other) => (other.bookieId === bookieId && other.incarnation === incarnation ? itself : connectGrpcBookie(other, { clock }));
}
