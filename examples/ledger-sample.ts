/**
 * The first steps with ledgers: create one, append, close, open it again, read.
 *
 * By itself (three bookies in this process, on a temporary folder), or against a running cluster:
 *
 *     npm run example ledger-sample
 *     npm run example ledger-sample -- --metadata zk://127.0.0.1:2181/daybook
 */
import { pathToFileURL } from 'node:url';
import type { LedgerClient } from '@daybook/ledger';
import { type EntryId, entryId } from '@daybook/proto';
import { metadataOption, openSampleCluster } from './sample-cluster.js';

export async function ledgerSample(client: LedgerClient, print: (line: string) => void): Promise<void> {
  const password = Buffer.from('foobar');

  // Each entry goes to 2 of 3 bookies, and is acknowledged when both have it on disk.
  const writer = await client.create({ ensembleSize: 3, writeQuorumSize: 2, ackQuorumSize: 2, digestType: 'CRC32', password });
  await writer.append(Buffer.from('Hello World!'));

  // Appends may be on their way together; they are stored, and acknowledged, in this order.
  await Promise.all(Array.from({ length: 9 }, (_, i) => writer.append(Buffer.from(`entry ${i + 1}`))));
  await writer.close();

  // Whoever opens it so can be sure that nothing is added any more, even if the writer had died before closing.
  const reader = await client.openWithRecovery(writer.ledgerId, { password, digestType: 'CRC32' });
  const last: EntryId = reader.lastAddConfirmed;
  print(`ledger ${reader.ledgerId} has entries 0 to ${last}, ${reader.length} bytes`);
  for (const entry of await reader.read(entryId(0), last)) print(`${entry.entryId}: ${entry.payload}`);
  await reader.close();
  await client.delete(reader.ledgerId);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await using cluster = await openSampleCluster(metadataOption());
  await ledgerSample(cluster.client, (line) => process.stdout.write(`${line}\n`));
}
