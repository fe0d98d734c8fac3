import { type AdminRoute, bookieHttpErrors, booleanField, booleanParameter, objectBody } from '@daybook/bookie/admin';
import {
  type DecommissionProgress,
  decommissionBookie,
  type LedgerReport,
  type RecoverProgress,
  readAuditor,
  recoverBookies,
} from '@daybook/ledger/repair';
import { type BookieId, bookieId } from '@daybook/proto';
import { DaybookError, TaskSet } from '@daybook/runtime';
import type { OpenSession } from './cluster-routes.js';
import { listMarked } from './under-replicated.js';

const base = '/api/v1/autorecovery';
const delaySecondsMax = 31_536_000;

/** BookKeeper's paths of repair. `close` ends what was begun through them; a decommission goes on by itself. */
export function repairRoutes(open: OpenSession): { routes: AdminRoute[]; close(): Promise<void> } {
  const works = new RepairWorks(open);
  return { routes: [...switchRoutes(open), ...listRoutes(open), ...workRoutes(works)], close: () => works.close() };
}

function switchRoutes(open: OpenSession): AdminRoute[] {
  const settings = async () => (await (await open()).repair()).settings;
  return [
    {
      path: `${base}/status`,
      GET: async () => ({ enabled: await (await settings()).isEnabled() }),
      PUT: async ({ query, body }) => {
        const enabled = booleanParameter(query, 'enabled') ?? booleanField(objectBody(body, ['enabled']), 'enabled');
        if (enabled === undefined) throw bookieHttpErrors.BAD_REQUEST('say enabled=true or enabled=false');
        await (await settings()).setEnabled(enabled);
        return { enabled };
      },
    },
    {
      path: `${base}/lost_bookie_recovery_delay`,
      GET: async () => ({ delay_seconds: (await (await settings()).readDelay())?.seconds ?? 0 }),
      PUT: async ({ body }) => {
        const seconds = objectBody(body, ['delay_seconds']).delay_seconds;
        if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 0 || seconds > delaySecondsMax) {
          throw bookieHttpErrors.BAD_REQUEST(`delay_seconds must be a whole number from 0 to ${delaySecondsMax}`);
        }
        await (await settings()).setDelay(seconds);
        return { delay_seconds: seconds };
      },
    },
    {
      path: `${base}/trigger_audit`,
      PUT: async () => {
        await (await settings()).triggerAudit();
        return { triggered: true };
      },
    },
  ];
}

/** What one answer lists at most. */
const listedMax = 10_000;

function listRoutes(open: OpenSession): AdminRoute[] {
  return [
    {
      path: `${base}/list_under_replicated_ledger`,
      GET: async ({ query }) => {
        const filter = { missing: query.get('missingreplica') ?? undefined, excluding: query.get('excludingmissingreplica') ?? undefined };
        const isPrinting = booleanParameter(query, 'printmissingreplica') ?? false;
        const tools = await (await open()).repair();
        const ids: number[] = [];
        const missing: Record<string, readonly string[]> = {};
        for await (const row of listMarked(tools, filter)) {
          if (ids.length >= listedMax) break;
          ids.push(row.ledgerId);
          missing[String(row.ledgerId)] = row.missing ?? [];
        }
        return isPrinting ? missing : ids;
      },
    },
    {
      path: `${base}/who_is_auditor`,
      GET: async () => {
        const auditor = await readAuditor((await open()).store);
        if (auditor === undefined) throw bookieHttpErrors.NOT_FOUND('auditor now: autorecovery runs nowhere');
        return { Auditor: auditor };
      },
    },
  ];
}

function workRoutes(works: RepairWorks): AdminRoute[] {
  return [
    {
      path: `${base}/decommission`,
      GET: () => works.decommissions(),
      PUT: ({ body }) => {
        const id = idOf(objectBody(body, ['bookie_src']).bookie_src);
        return works.decommission(id);
      },
    },
    {
      path: `${base}/bookie`,
      GET: () => works.recovery(),
      PUT: ({ body }) => {
        const fields = objectBody(body, ['bookie_src', 'bookie_dest', 'delete_cookie']);
        if (fields.bookie_dest !== undefined) {
          throw bookieHttpErrors.BAD_REQUEST('leave bookie_dest out: new places are chosen by placement, so that copies stay apart');
        }
        if (!Array.isArray(fields.bookie_src) || fields.bookie_src.length === 0) throw bookieHttpErrors.BAD_REQUEST('say bookie_src: ["BOOKIE"]');
        return works.recover(fields.bookie_src.map(idOf), booleanField(fields, 'delete_cookie') ?? false);
      },
    },
  ];
}

function idOf(value: unknown): BookieId {
  if (typeof value !== 'string') throw bookieHttpErrors.BAD_REQUEST('say bookie_src: the id of a bookie');
  try {
    return bookieId(value);
  } catch (error) {
    throw bookieHttpErrors.BAD_REQUEST(error instanceof Error ? error.message : String(error));
  }
}

interface Work<Progress> {
  state: 'running' | 'done' | 'failed';
  error?: string;
  progress?: Progress;
}

interface RecoveryWork extends Work<RecoverProgress> {
  bookies: readonly BookieId[];
  /** Ledgers that could not be moved, the last hundred. */
  failed: LedgerReport[];
}

/** Long works that were begun through HTTP, and what they are at. */
class RepairWorks {
  readonly #open: OpenSession;
  readonly #tasks = new TaskSet(() => undefined);
  readonly #decommissions = new Map<BookieId, Work<DecommissionProgress>>();
  #recovery: RecoveryWork | undefined;

  constructor(open: OpenSession) {
    this.#open = open;
  }

  decommissions(): object {
    return Object.fromEntries(this.#decommissions);
  }

  recovery(): object {
    return this.#recovery ?? { state: 'none' };
  }

  /** A second request for the same bookie only tells what the first is at. */
  decommission(id: BookieId): object {
    const before = this.#decommissions.get(id);
    if (before?.state === 'running') return { [id]: before };
    const work: Work<DecommissionProgress> = { state: 'running' };
    this.#decommissions.set(id, work);
    this.#run(work, async (stop) => {
      const tools = await (await this.#open()).repair();
      await decommissionBookie(tools, {
        bookieId: id,
        stop,
        onProgress: (progress) => {
          work.progress = progress;
        },
      });
    });
    return { [id]: work };
  }

  /** One at a time. */
  recover(bookies: readonly BookieId[], deleteCookie: boolean): object {
    if (this.#recovery?.state === 'running') {
      throw bookieHttpErrors.REFUSED(`the copies of ${this.#recovery.bookies.join(', ')} are being moved: wait until that is done`);
    }
    const work: RecoveryWork = { state: 'running', bookies, failed: [] };
    this.#recovery = work;
    this.#run(work, async (stop) => {
      const tools = await (await this.#open()).repair();
      await recoverBookies(tools, {
        bookies,
        deleteCookie,
        stop,
        skipUnrecoverableLedgers: true,
        onProgress: (progress) => {
          work.progress = progress;
        },
        onLedger: (report) => {
          if (report.outcome === 'failed') work.failed = [...work.failed.slice(-99), report];
        },
      });
      if (work.failed.length > 0) throw bookieHttpErrors.REFUSED('some ledgers could not be moved');
    });
    return work;
  }

  close(): Promise<void> {
    return this.#tasks.close();
  }

  #run(work: Work<unknown>, task: (stop: AbortSignal) => Promise<void>): void {
    this.#tasks.run('repair asked for over HTTP', async (stop) => {
      try {
        await task(stop);
        work.state = 'done';
      } catch (error) {
        work.state = 'failed';
        work.error = error instanceof DaybookError ? error.message : 'something unexpected happened';
        if (!(error instanceof DaybookError)) throw error;
      }
    });
  }
}
