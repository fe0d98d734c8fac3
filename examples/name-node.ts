/**
 * Two name nodes over one journal of edit-log segments: the active one writes, the standby follows, takes over and fences it, with not one edit lost.
 *
 *     npm run example name-node
 *     npm run example name-node -- --metadata zk://127.0.0.1:2181/daybook
 */
import { pathToFileURL } from 'node:url';
import { Journal, type JournalOutput } from '@daybook/ledger/log';
import { clock, metadataOption, openSampleCluster, type SampleNode } from './sample-cluster.js';

type Edit = { do: 'mkdir' | 'delete'; path: string };

const namespace = { namespaceId: 1, clusterId: 'CID-example', blockPoolId: 'BP-example', layoutVersion: -60 };
const editsPerSegment = 5;

/** The name space in memory, and the journal that it can be made from again. */
export class NameNode {
  readonly names = new Set<string>();
  readonly journal: Journal;
  #lastTxId = 0;
  #output: JournalOutput | undefined;

  constructor({ store, ledgers }: SampleNode, host: string) {
    this.journal = new Journal({ store, ledgers, clock, name: 'name-node-example', namespace, options: { host, shrinkToAvailable: true } });
  }

  get lastTxId(): number {
    return this.#lastTxId;
  }

  /** Reads the edits that it does not have yet. With `inProgressOk` also what the active node has written and not finalized, as far as it can be seen. */
  async catchUp({ inProgressOk }: { inProgressOk: boolean }): Promise<void> {
    for (const input of await this.journal.selectInputStreams(this.#lastTxId + 1, { inProgressOk })) {
      for await (const { txId, payload } of input) {
        this.#apply(JSON.parse(Buffer.from(payload).toString()) as Edit);
        this.#lastTxId = txId;
      }
      await input.close();
    }
  }

  /** Recovery first: it closes the segment of whoever was active, who from then on cannot write to it. Then nothing comes any more, and it can be read to its end. */
  async becomeActive(): Promise<void> {
    await this.journal.recoverUnfinalizedSegments();
    await this.catchUp({ inProgressOk: false });
    this.#output = await this.journal.startLogSegment(this.#lastTxId + 1);
  }

  /** Resolves when the edit is safe; only then is it done in memory. */
  async edit(edit: Edit): Promise<void> {
    const output = this.#output;
    if (output === undefined) throw new Error('this name node is not active');
    output.write({ txId: output.lastTxId + 1, payload: Buffer.from(JSON.stringify(edit)) });
    await output.flush();
    this.#lastTxId = output.lastTxId;
    this.#apply(edit);
    if (output.lastTxId - output.firstTxId + 1 >= editsPerSegment) await this.#roll(output);
  }

  async close(): Promise<void> {
    await this.journal.close();
  }

  async #roll(output: JournalOutput): Promise<void> {
    await output.close();
    await this.journal.finalizeLogSegment(output.firstTxId, output.lastTxId);
    this.#output = await this.journal.startLogSegment(output.lastTxId + 1);
  }

  #apply({ do: what, path }: Edit): void {
    if (what === 'mkdir') this.names.add(path);
    else this.names.delete(path);
  }
}

export async function nameNodeStory(connect: () => Promise<SampleNode>, print: (line: string) => void): Promise<void> {
  await using firstNode = await connect();
  await using secondNode = await connect();
  const first = new NameNode(firstNode, 'nn1');
  const second = new NameNode(secondNode, 'nn2');

  await first.journal.format();
  await first.becomeActive();
  for (let i = 1; i <= 12; i++) await first.edit({ do: 'mkdir', path: `/data/user${i}` });
  await first.edit({ do: 'delete', path: '/data/user1' });
  print(`nn1 is active: ${first.names.size} names after ${first.lastTxId} edits`);

  await second.catchUp({ inProgressOk: true });
  print(`nn2 follows: ${second.names.size} names after ${second.lastTxId} edits, without disturbing nn1`);

  // nn1 hangs; it does not know that it is not active any more.
  await second.becomeActive();
  print(`nn2 took over: ${second.names.size} names after ${second.lastTxId} edits`);
  const refused = await first.edit({ do: 'delete', path: '/data' }).then(
    () => 'it was written!',
    (error) => error.code,
  );
  print(`nn1 wakes up and writes: ${refused}`);

  for (let i = 13; i <= 20; i++) await second.edit({ do: 'mkdir', path: `/data/user${i}` });
  await using thirdNode = await connect();
  const third = new NameNode(thirdNode, 'nn3');
  await third.catchUp({ inProgressOk: true });
  const expected = [...second.names].slice(0, third.names.size);
  print(
    `nn3, new, reads it all: ${third.names.size} names, ${JSON.stringify([...third.names]) === JSON.stringify(expected) ? 'the same' : 'others!'}`,
  );

  await second.journal.purgeLogsOlderThan(11);
  print(`segments before edit 11 purged, ${await second.journal.numberOfTransactions(11)} finalized edits stay`);
  await first.close();
  await second.close();
  await second.journal.format();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await using cluster = await openSampleCluster(metadataOption());
  await nameNodeStory(cluster.connect, (line) => process.stdout.write(`${line}\n`));
}
