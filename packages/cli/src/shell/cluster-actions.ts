import { readFileSync, writeFileSync } from 'node:fs';
import { listLocalLedgers } from '@daybook/bookie/shell';
import { ledgerErrors } from '@daybook/ledger';
import { readInstanceId } from '@daybook/metadata';
import { type BookieId, decodeLedgerMetadata, encodeLedgerMetadata, type LedgerId, type LedgerMetadata, ledgerId } from '@daybook/proto';
import { cliErrors } from '../errors.js';
import { bookieSpaces, clusterInfo, endpointFacts, listBookies, metadataFacts } from './cluster-facts.js';
import { type ClusterOptions, inCluster } from './cluster-session.js';
import { shellErrors } from './errors.js';
import { type FolderOptions, inAnyFolder } from './folder-access.js';
import { askBookie, type LiveOptions } from './live-bookie.js';
import { bytesText, factsText, type OutputOptions, printJson, printLine, printResult, tableText } from './output.js';
import { typedBookieId } from './shell-options.js';

export interface PlainClusterOptions extends ClusterOptions, OutputOptions {}

export interface ListLedgersOptions extends PlainClusterOptions, FolderOptions, LiveOptions {
  meta?: boolean;
  bookieid?: string;
}

export interface LedgerMetadataOptions extends PlainClusterOptions {
  dumptofile?: string;
  restorefromfile?: string;
  update?: boolean;
  force?: boolean;
}

export interface DeleteLedgerOptions extends PlainClusterOptions {
  force?: boolean;
}

export interface ListBookiesOptions extends PlainClusterOptions {
  rw?: boolean;
  ro?: boolean;
  all?: boolean;
}

export interface BookieInfoOptions extends PlainClusterOptions, LiveOptions {}

export async function listLedgers(options: ListLedgersOptions): Promise<void> {
  if (options.http !== undefined) return listLiveLedgers(options.http, options);
  if (options.data !== undefined) {
    const ledgers = await inAnyFolder(options, listLocalLedgers);
    if (options.json) for (const ledger of ledgers) printJson(ledger);
    else printLine(tableText(ledgers, 'no ledgers'));
    return;
  }
  const wanted = options.bookieid === undefined ? undefined : typedBookieId(options.bookieid);
  await inCluster(options, async ({ records }) => {
    for await (const id of records.list()) {
      if (wanted === undefined && options.meta !== true) {
        printLedger(id, undefined, options);
        continue;
      }
      const metadata = (await records.read(id))?.metadata;
      if (metadata === undefined || (wanted !== undefined && !isNamed(metadata, wanted))) continue;
      printLedger(id, options.meta === true ? metadata : undefined, options);
    }
  });
}

/** Those that a running bookie knows. */
async function listLiveLedgers(address: string, options: OutputOptions): Promise<void> {
  for (let from: number | undefined = 0; from !== undefined; ) {
    const answer: { ledgers: number[]; next?: number } = await askBookie(address, `/api/v1/bookie/ledgers?from=${from}`);
    for (const id of answer.ledgers) printLedger(ledgerId(id), undefined, options);
    from = answer.next;
  }
}

function isNamed({ segments }: LedgerMetadata, id: BookieId): boolean {
  return segments.some(({ ensemble }) => ensemble.includes(id));
}

function printLedger(id: LedgerId, metadata: LedgerMetadata | undefined, { json }: OutputOptions): void {
  const facts = metadata === undefined ? { ledgerId: id } : metadataFacts(id, metadata);
  if (json) printJson(facts);
  else printLine(metadata === undefined ? String(id) : `${factsText(facts)}\n`);
}

export async function ledgerMetadata(id: number, options: LedgerMetadataOptions): Promise<void> {
  const { dumptofile, restorefromfile } = options;
  await inCluster(options, async ({ records }) => {
    const found = await records.read(ledgerId(id));
    if (restorefromfile === undefined) {
      if (found === undefined) throw ledgerErrors.NOT_FOUND(id);
      if (dumptofile !== undefined) writeFileSync(dumptofile, encodeLedgerMetadata(found.metadata));
      printResult(options, metadataFacts(ledgerId(id), found.metadata), factsText);
      return;
    }
    const metadata: LedgerMetadata = decodeLedgerMetadata(readFileSync(restorefromfile));
    if (found !== undefined && options.update !== true) throw cliErrors.USAGE(`ledger ${id} has a record; to replace it add --update`);
    if (options.force !== true) {
      const what = `${found === undefined ? 'make' : 'replace'} the record of ledger ${id}; if its entries are not where the record says they are lost to readers`;
      throw shellErrors.NOT_CONFIRMED(what, '--force');
    }
    if (found === undefined) await records.create(ledgerId(id), metadata);
    else await records.write(ledgerId(id), metadata, found.version);
    printResult(options, metadataFacts(ledgerId(id), metadata), factsText);
  });
}

export async function deleteLedger(id: number, options: DeleteLedgerOptions): Promise<void> {
  await inCluster(options, async ({ records, ledgers }) => {
    const found = await records.read(ledgerId(id));
    if (found === undefined) throw ledgerErrors.NOT_FOUND(id);
    const { state, length } = found.metadata;
    if (options.force !== true) {
      const size = state === 'CLOSED' ? `${bytesText(length)}` : 'still being written';
      throw shellErrors.NOT_CONFIRMED(`delete ledger ${id} (${state}, ${size}) for ever`, '--force');
    }
    await ledgers.delete(ledgerId(id));
    printResult(options, { ledgerId: id, deleted: true }, () => `ledger ${id} is deleted`);
  });
}

export async function showBookies(options: ListBookiesOptions): Promise<void> {
  const which = options.all === true ? 'all' : options.ro === true ? 'ro' : 'rw';
  if (options.ro === true && options.rw === true) throw cliErrors.USAGE('say one of -rw and -ro, or -a for all');
  await inCluster(options, async (session) => {
    const bookies = await listBookies(session, which);
    printResult(options, bookies, () => tableText(bookies, which === 'rw' ? 'no bookie takes entries' : 'no such bookie'));
  });
}

export async function bookieInfo(options: BookieInfoOptions): Promise<void> {
  if (options.http !== undefined) {
    printResult(options, await askBookie<object>(options.http, '/api/v1/bookie/status'), statusText);
    return;
  }
  await inCluster(options, async (session) => {
    const spaces = await bookieSpaces(session);
    const sum = (read: (space: (typeof spaces)[number]) => number | undefined): number =>
      spaces.reduce((total, space) => total + (read(space) ?? 0), 0);
    const totals = { free: sum(({ free }) => free), total: sum(({ total }) => total) };
    printResult(options, { bookies: spaces, ...totals }, () => {
      const size = (bytes: number | undefined): string => (bytes === undefined ? '?' : bytesText(bytes));
      const rows = spaces.map(({ bookieId: id, free, total, problem }) => ({ bookieId: id, free: size(free), total: size(total), problem }));
      return `${tableText(rows, 'no bookie is up')}\nall: ${bytesText(totals.free)} free of ${bytesText(totals.total)}`;
    });
  });
}

function statusText(status: object): string {
  const {
    directories = [],
    journals = [],
    badEntries: _bad,
    scrub: _scrub,
    ...facts
  } = status as { directories?: object[]; journals?: object[] } & Record<string, unknown>;
  return `${factsText(facts)}\n\n${tableText(directories, '')}\n\n${tableText(journals, '')}`;
}

export async function endpointInfo(id: string, options: PlainClusterOptions): Promise<void> {
  await inCluster(options, async (session) => {
    const facts = await endpointFacts(session, id);
    if (facts === undefined) {
      throw shellErrors.NO_SUCH_BOOKIE(
        id,
        session.registry
          .list()
          .map((bookie) => bookie.bookieId)
          .join(', '),
      );
    }
    printResult(options, facts, factsText);
  });
}

export async function instanceId(options: PlainClusterOptions): Promise<void> {
  await inCluster(options, async ({ store }) => printResult(options, { instanceId: await readInstanceId(store) }, (facts) => facts.instanceId));
}

export async function showCluster(options: PlainClusterOptions): Promise<void> {
  await inCluster(options, async (session) => printResult(options, await clusterInfo(session), factsText));
}
