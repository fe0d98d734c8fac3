import {
  cancelDecommission,
  type DecommissionProgress,
  decommissionBookie,
  type LedgerReport,
  type PeriodicCheck,
  periodicChecks,
  type RecoverProgress,
  readAuditor,
  recoverBookies,
} from '@daybook/ledger/repair';
import { ledgerId } from '@daybook/proto';
import { cliErrors } from '../errors.js';
import type { PlainClusterOptions } from './cluster-actions.js';
import { inCluster, stopOnInterrupt } from './cluster-session.js';
import { shellErrors } from './errors.js';
import { bytesText, durationText, factsText, ProgressLine, printJson, printLine, printResult, tableText } from './output.js';
import { typedBookieId } from './shell-options.js';
import { listMarked } from './under-replicated.js';

export interface UnderReplicatedOptions extends PlainClusterOptions {
  missingreplica?: string;
  excludingmissingreplica?: string;
}

export interface AutoRecoveryOptions extends PlainClusterOptions {
  enable?: boolean;
  disable?: boolean;
}

export interface DelayOptions extends PlainClusterOptions {
  set?: number;
}

export interface RecoverOptions extends PlainClusterOptions {
  query?: boolean;
  dryrun?: boolean;
  force?: boolean;
  ledger?: number;
  skipopenledgers?: boolean;
  skipunrecoverableledgers?: boolean;
  deletecookie?: boolean;
  rate: number;
}

export interface DecommissionOptions extends PlainClusterOptions {
  bookieid?: string;
  keepcookie?: boolean;
  cancel?: boolean;
}

export async function whoIsAuditor(options: PlainClusterOptions): Promise<void> {
  await inCluster(options, async ({ store }) => {
    const auditor = await readAuditor(store);
    printResult(options, { auditor: auditor ?? null }, () => auditor ?? 'nobody: daybook autorecovery runs nowhere');
  });
}

export async function triggerAudit(options: PlainClusterOptions): Promise<void> {
  await inCluster(options, async (session) => {
    await (await session.repair()).settings.triggerAudit();
    const auditor = await readAuditor(session.store);
    printResult(options, { triggered: true, auditor: auditor ?? null }, () => `asked ${auditor ?? 'whoever becomes the auditor: nobody is it now'}`);
  });
}

const checkNames: Readonly<Record<string, PeriodicCheck>> = {
  checkallledgers: 'all-ledgers',
  placementpolicycheck: 'placement',
  replicascheck: 'replicas',
};

export async function forceAuditChecks(options: PlainClusterOptions & Record<string, unknown>): Promise<void> {
  const chosen = Object.entries(checkNames).flatMap(([name, check]) => (options[name] === true ? [check] : []));
  const checks = chosen.length === 0 ? periodicChecks : chosen;
  await inCluster(options, async (session) => {
    const { settings } = await session.repair();
    for (const check of checks) await settings.forgetCheckTime(check);
    printResult(options, { due: checks }, () => `due now: ${checks.join(', ')}`);
  });
}

export async function listUnderReplicated(options: UnderReplicatedOptions): Promise<void> {
  const { missingreplica: missing, excludingmissingreplica: excluding } = options;
  await inCluster(options, async (session) => {
    const rows: object[] = [];
    for await (const { ledgerId: id, missing: bookies, markedAt, isDamaged } of listMarked(await session.repair(), { missing, excluding })) {
      const row = { ledgerId: id, missing: bookies, markedAt, isDamaged };
      if (options.json) printJson(row);
      else rows.push(row);
    }
    if (!options.json) printLine(tableText(rows, 'no ledger lacks a copy, as far as anybody has noticed'));
  });
}

export async function queryStatus(options: PlainClusterOptions): Promise<void> {
  await inCluster(options, async (session) => {
    const { locks, underReplication, settings } = await session.repair();
    const ledgers = [...(await locks.lockedLedgers())].map(Number).sort((a, b) => a - b);
    const facts = {
      isEnabled: await settings.isEnabled(),
      underReplicatedLedgersCount: await underReplication.count(),
      ledgersBeingRecovered: ledgers,
    };
    printResult(options, facts, factsText);
  });
}

export async function autoRecovery({ enable, disable, ...options }: AutoRecoveryOptions): Promise<void> {
  if (enable === true && disable === true) throw cliErrors.USAGE('say either --enable or --disable');
  await inCluster(options, async (session) => {
    const { settings } = await session.repair();
    if (enable === true || disable === true) await settings.setEnabled(enable === true);
    const isEnabled = await settings.isEnabled();
    printResult(options, { isEnabled }, () => `autorecovery is ${isEnabled ? 'enabled' : 'disabled'}`);
  });
}

export async function recoveryDelay({ set, ...options }: DelayOptions): Promise<void> {
  await inCluster(options, async (session) => {
    const { settings } = await session.repair();
    if (set !== undefined) await settings.setDelay(set);
    const seconds = (await settings.readDelay())?.seconds ?? 0;
    printResult(options, { delay_seconds: seconds }, () => `a lost bookie is waited for ${seconds} s`);
  });
}

export async function recover(names: string, options: RecoverOptions): Promise<void> {
  const bookies = names.split(',').map((name) => typedBookieId(name.trim()));
  const mode = options.query === true ? 'query' : options.dryrun === true ? 'dry-run' : 'recover';
  if (mode === 'recover' && options.force !== true) {
    const what = `move all copies of ${bookies.join(', ')} to other bookies, and fence and close ledgers they are named by that are still written`;
    throw shellErrors.NOT_CONFIRMED(`${what} (see --query and --dryrun first)`, '--force');
  }
  const stop = stopOnInterrupt();
  try {
    await inCluster(options, async (session) => {
      const { clock } = session.parts;
      const progress = new ProgressLine(() => clock.monoMs());
      const tools = await session.repair({ replicationRateByBytes: options.rate });
      const result = await recoverBookies(tools, {
        bookies,
        mode,
        ledgerId: options.ledger === undefined ? undefined : ledgerId(options.ledger),
        skipOpenLedgers: options.skipopenledgers === true,
        skipUnrecoverableLedgers: options.skipunrecoverableledgers === true,
        deleteCookie: mode === 'recover' && options.deletecookie === true,
        stop: stop.signal,
        onLedger: (report) => (options.json ? printJson(report) : printLine(reportText(report))),
        onProgress: (now) => {
          if (mode === 'recover') progress.tell(recoverText(now));
        },
      });
      progress.end();
      printResult(
        options,
        { result },
        () => `${factsText({ ...result.reports, entriesCopied: result.entriesCopied, bytesCopied: result.bytesCopied })}`,
      );
      if (result.reports.failed > 0) throw shellErrors.PROBLEMS(result.reports.failed, 'ledgers that could not be recovered, see above');
    });
  } finally {
    stop.end();
  }
}

function reportText({ ledgerId: id, outcome, isOpen, fragmentsCount, entriesCount, reason }: LedgerReport): string {
  return `ledger ${id}\t${outcome}\t${isOpen ? 'open' : 'closed'}\t${fragmentsCount} fragments, ${entriesCount} entries${reason === undefined ? '' : `\t${reason}`}`;
}

function recoverText({ ledgersDone, ledgersTotal, entriesCopied, bytesCopied, remainingMs }: RecoverProgress): string {
  return `${ledgersDone} of ${ledgersTotal} ledgers, ${entriesCopied} entries (${bytesText(bytesCopied)}) copied, about ${durationText(remainingMs)} left`;
}

export async function decommission(name: string | undefined, options: DecommissionOptions): Promise<void> {
  const wanted = name ?? options.bookieid;
  if (wanted === undefined) throw cliErrors.USAGE('say which bookie: daybook shell decommissionbookie BOOKIE');
  const id = typedBookieId(wanted);
  const stop = stopOnInterrupt();
  try {
    await inCluster(options, async (session) => {
      const tools = await session.repair();
      if (options.cancel === true) {
        await cancelDecommission(tools, id);
        printResult(options, { bookieId: id, isDraining: false }, () => `bookie ${id} keeps what it still has`);
        return;
      }
      const progress = new ProgressLine(() => tools.clock.monoMs());
      const result = await decommissionBookie(tools, {
        bookieId: id,
        deleteCookie: options.keepcookie !== true,
        stop: stop.signal,
        onProgress: (now) => progress.tell(decommissionText(now)),
      });
      progress.end();
      printResult(options, { bookieId: id, ...result }, factsText);
    });
  } finally {
    stop.end();
  }
}

function decommissionText({ phase, ledgersTotal, ledgersLeft, remainingMs, idleMs }: DecommissionProgress): string {
  const idle = idleMs > 60_000 ? `; nothing was finished for ${durationText(idleMs)}: does daybook autorecovery run, and what does its log say?` : '';
  return `${phase}: ${ledgersLeft} of ${ledgersTotal} ledgers left, about ${durationText(remainingMs)}${idle}`;
}
