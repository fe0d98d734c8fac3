import type { LedgerId } from '@daybook/proto';
import { type Clock, DaybookError, type Disk, type Logger, TaskSet } from '@daybook/runtime';
import type { Bookie } from '../bookie-api.js';
import { diskFileKinds, listFilesOnDisk } from '../shell/files-on-disk.js';
import { readLastMark } from '../shell/last-mark.js';
import { type AdminHandler, type AdminRoute, booleanField, choiceParameter, numberParameter, objectBody, optionalNumber } from './admin-route.js';
import { bookieHttpErrors } from './http-errors.js';
import { SanityCheck } from './sanity-check.js';

export interface BookieRoutesOptions {
  bookie: Bookie;
  clock: Clock;
  disk: Disk;
  logger: Logger;
  /** Shown as it is: it holds no secrets. */
  config: object;
  journalDirectories: readonly string[];
  ledgerDirectories: readonly string[];
  /** It serves, and has told the cluster so. */
  isReady(): boolean;
  nextLedgerId(): Promise<LedgerId>;
}

/** BookKeeper's paths below `/api/v1/bookie` that are about this bookie alone, and `/api/v1/config/server_config`. */
export function bookieRoutes(options: BookieRoutesOptions): AdminRoute[] {
  return [...stateRoutes(options), ...diskRoutes(options), ...scrubRoutes(options), configRoute(options), ...otherwiseRoutes()];
}

const base = '/api/v1/bookie';
/** In one answer. */
const ledgersMax = 10_000;

function stateRoutes({ bookie, clock, isReady, nextLedgerId }: BookieRoutesOptions): AdminRoute[] {
  const sanity = new SanityCheck({ service: bookie.service, clock, isReadOnly: () => bookie.isReadOnly, nextLedgerId });
  return [
    {
      path: `${base}/state`,
      GET: () => ({
        running: bookie.state === 'running',
        readOnly: bookie.isReadOnly,
        shuttingDown: bookie.state === 'closing' || bookie.state === 'closed',
        availableForHighPriorityWrites: bookie.state === 'running' && bookie.status().takesRecovery,
      }),
    },
    {
      path: `${base}/state/readonly`,
      GET: () => ({ readOnly: bookie.isReadOnly }),
      PUT: async ({ body }) => {
        const readOnly = booleanField(objectBody(body, ['readOnly']), 'readOnly');
        if (readOnly === undefined) throw bookieHttpErrors.BAD_REQUEST('say {"readOnly": true} or {"readOnly": false}');
        await bookie.setReadOnly(readOnly);
        return { readOnly: bookie.isReadOnly, readOnlyReasons: bookie.status().readOnlyReasons };
      },
    },
    { path: `${base}/sanity`, GET: () => sanity.run() },
    {
      path: `${base}/is_ready`,
      GET: () => {
        if (!isReady()) throw bookieHttpErrors.NOT_READY(bookie.state);
        return { isReady: true };
      },
    },
    { path: `${base}/status`, GET: () => ({ bookieId: bookie.identity.bookieId, ...bookie.status() }) },
  ];
}

function diskRoutes({ bookie, disk, journalDirectories, ledgerDirectories }: BookieRoutesOptions): AdminRoute[] {
  return [
    {
      path: `${base}/info`,
      GET: async () => {
        const { code, freeBytes, totalBytes } = await bookie.service.info();
        if (code !== 'OK') throw bookieHttpErrors.REFUSED(`the bookie answers ${code}`);
        return { freeSpace: freeBytes, totalSpace: totalBytes };
      },
    },
    { path: `${base}/last_log_mark`, GET: () => readLastMark({ disk, journalDirectories, ledgerDirectories }) },
    {
      path: `${base}/list_disk_file`,
      GET: async ({ query }) => {
        const kind = choiceParameter(query, 'file_type', diskFileKinds);
        const kinds = kind === undefined ? diskFileKinds : [kind];
        const files = await listFilesOnDisk(disk, { journalDirectories, ledgerDirectories }, kinds);
        return Object.fromEntries(
          kinds.map((each) => [`${each} files`, files.filter((file) => file.kind === each).map(({ path, name, bytes }) => ({ name, path, bytes }))]),
        );
      },
    },
    {
      path: `${base}/ledgers`,
      GET: ({ query }) => {
        const from = optionalNumber(query, 'from') ?? 0;
        const ids = bookie.ledgerIds();
        const start = ids.findIndex((id) => id >= from);
        const end = start < 0 ? 0 : start + ledgersMax;
        return { ledgers: [...ids.subarray(Math.max(0, start), end)], ...(start >= 0 && end < ids.length && { next: ids[end] }) };
      },
    },
    {
      path: `${base}/ledger`,
      GET: async ({ query }) => {
        const ledgerId = numberParameter(query, 'ledger_id') as LedgerId;
        const { code, runs } = await bookie.service.listEntries(ledgerId);
        if (code === 'NO_LEDGER') throw bookieHttpErrors.NOT_FOUND(`ledger ${ledgerId} on this bookie`);
        if (code !== 'OK') throw bookieHttpErrors.REFUSED(`the bookie answers ${code}: it cannot tell what it has of ledger ${ledgerId}`);
        return { ledgerId, entriesCount: runs.reduce((sum, { first, last }) => sum + last - first + 1, 0), runs };
      },
    },
  ];
}

function scrubRoutes({ bookie, logger }: BookieRoutesOptions): AdminRoute[] {
  const tasks = new TaskSet((error) => logger.error({ error }, 'a check of the entry logs failed'));
  const report = () => {
    const { scrub, badEntries, badEntriesCount } = bookie.status();
    return { ...scrub, badEntriesCount, badEntries };
  };
  return [
    {
      path: `${base}/scrub`,
      GET: report,
      PUT: () => {
        if (bookie.state !== 'running') throw bookieHttpErrors.REFUSED(`the bookie is ${bookie.state}`);
        tasks.run('scrub', async () => {
          try {
            await bookie.scrub();
          } catch (error) {
            if (!(error instanceof DaybookError)) throw error;
            logger.warn({ error }, 'a check of the entry logs that was asked for did not end');
          }
        });
        return report();
      },
    },
  ];
}

function configRoute({ config }: BookieRoutesOptions): AdminRoute {
  const PUT = refusal('settings are read at the start: change the configuration file, the environment or the flags, and start the bookie again');
  return { path: '/api/v1/config/server_config', GET: () => config, PUT };
}

/** What BookKeeper has and a bookie of ours does otherwise: whoever calls it is told how. */
function otherwiseRoutes(): AdminRoute[] {
  const expand = refusal('add the directory to ledgerDirectories, and start once with allowStorageExpansion=true');
  const compact = refusal('the index of an entry log is compacted together with the log: see /api/v1/bookie/gc');
  return [
    { path: `${base}/expand_storage`, PUT: expand },
    { path: `${base}/entry_location_compact`, GET: compact, PUT: compact },
  ];
}

function refusal(text: string): AdminHandler {
  return () => {
    throw bookieHttpErrors.REFUSED(text);
  };
}
