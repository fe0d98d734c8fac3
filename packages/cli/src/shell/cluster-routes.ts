import {
  type AdminRequest,
  type AdminRoute,
  bookieHttpErrors,
  booleanParameter,
  choiceParameter,
  numberParameter,
  optionalNumber,
} from '@daybook/bookie/admin';
import { ledgerErrors } from '@daybook/ledger';
import { entryId, ledgerId } from '@daybook/proto';
import { bookieSpaces, clusterInfo, listBookies, metadataFacts } from './cluster-facts.js';
import type { ClusterSession } from './cluster-session.js';

/** Gives the session, opened at the first call: a bookie that nobody asks needs none. */
export type OpenSession = () => Promise<ClusterSession>;

const ledgersPerPage = 100;
const entriesPerPage = 1_000;
const readBytesMax = 8 * 1024 * 1024;

/** BookKeeper's paths about ledgers and bookies of the whole cluster. */
export function clusterRoutes(open: OpenSession): AdminRoute[] {
  return [...ledgerRoutes(open), ...bookieRoutes(open)];
}

function ledgerRoutes(open: OpenSession): AdminRoute[] {
  return [
    { path: '/api/v1/ledger/list', GET: async ({ query }) => listPage(await open(), query) },
    {
      path: '/api/v1/ledger/metadata',
      GET: async ({ query }) => {
        const id = ledgerId(numberParameter(query, 'ledger_id'));
        const found = await (await open()).records.read(id);
        if (found === undefined) throw ledgerErrors.NOT_FOUND(id);
        return { [String(id)]: metadataFacts(id, found.metadata) };
      },
    },
    { path: '/api/v1/ledger/read', GET: async (request) => readPage(await open(), request) },
    {
      path: '/api/v1/ledger/delete',
      DELETE: async ({ query }) => {
        const id = ledgerId(numberParameter(query, 'ledger_id'));
        const { records, ledgers } = await open();
        if ((await records.read(id)) === undefined) throw ledgerErrors.NOT_FOUND(id);
        await ledgers.delete(id);
        return { ledgerId: id, deleted: true };
      },
    },
  ];
}

/** Pages count from 1, as BookKeeper's; without one all ids come at once. */
function pageOf(query: URLSearchParams): number | undefined {
  const page = optionalNumber(query, 'page');
  if (page === 0) throw bookieHttpErrors.BAD_REQUEST('pages count from 1');
  return page;
}

async function listPage({ records }: ClusterSession, query: URLSearchParams): Promise<Record<string, unknown>> {
  const isPrinting = booleanParameter(query, 'print_metadata') ?? false;
  // Records are only read a page at a time.
  const page = pageOf(query) ?? (isPrinting ? 1 : undefined);
  const first = page === undefined ? 0 : (page - 1) * ledgersPerPage;
  const end = page === undefined ? Number.POSITIVE_INFINITY : first + ledgersPerPage;
  const out: Record<string, unknown> = {};
  let index = 0;
  for await (const id of records.list()) {
    if (index >= end) break;
    if (index++ < first) continue;
    const found = isPrinting ? await records.read(id) : undefined;
    out[String(id)] = found === undefined ? null : metadataFacts(id, found.metadata);
  }
  return out;
}

async function readPage({ records, ledgers }: ClusterSession, { query }: AdminRequest): Promise<Record<string, string>> {
  const id = ledgerId(numberParameter(query, 'ledger_id'));
  const page = pageOf(query) ?? 1;
  const found = await records.read(id);
  if (found === undefined) throw ledgerErrors.NOT_FOUND(id);
  const reader = await ledgers.openWithoutRecovery(id, { password: found.metadata.password });
  const wantedLast = optionalNumber(query, 'end_entry_id') ?? reader.lastAddConfirmed;
  const first = (optionalNumber(query, 'start_entry_id') ?? 0) + (page - 1) * entriesPerPage;
  const last = Math.min(wantedLast, reader.lastAddConfirmed, first + entriesPerPage - 1);
  const out: Record<string, string> = {};
  let bytes = 0;
  for (let next = first; next <= last && bytes < readBytesMax; ) {
    for (const { entryId: entry, payload } of await reader.readBatch(entryId(next), entryId(last), readBytesMax - bytes)) {
      // BookKeeper's form: the payload as text. What is none is told apart by its prefix.
      out[String(entry)] = isPlainText(payload) ? payload.toString('utf8') : `base64:${payload.toString('base64')}`;
      bytes += payload.length;
      next = entry + 1;
    }
  }
  return out;
}

function isPlainText(payload: Buffer): boolean {
  return Buffer.from(payload.toString('utf8')).equals(payload);
}

function bookieRoutes(open: OpenSession): AdminRoute[] {
  return [
    {
      path: '/api/v1/bookie/list_bookies',
      GET: async ({ query }) => {
        const type = choiceParameter(query, 'type', ['rw', 'ro', 'all']) ?? 'rw';
        const isPrinting = booleanParameter(query, 'print_hostnames') ?? false;
        const bookies = await listBookies(await open(), type);
        return Object.fromEntries(bookies.map(({ bookieId, address }) => [bookieId, isPrinting ? address : null]));
      },
    },
    {
      path: '/api/v1/bookie/list_bookie_info',
      GET: async () => {
        const spaces = await bookieSpaces(await open());
        const sum = (key: 'free' | 'total'): number => spaces.reduce((total, space) => total + (space[key] ?? 0), 0);
        const rows = spaces.map(({ bookieId, ...space }) => [bookieId, space] as const);
        return { ...Object.fromEntries(rows), clusterInfo: { total_free: sum('free'), total: sum('total') } };
      },
    },
    { path: '/api/v1/bookie/cluster_info', GET: async () => clusterInfo(await open()) },
  ];
}
