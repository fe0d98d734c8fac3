/**
 * One node of the key-value store of kv-store.ts, a process of its own: HTTP in front, a named log as its write-ahead log. Started by kv-store.ts, or by hand:
 *
 *     node examples/dist/kv-node.js --metadata zk://127.0.0.1:2181/daybook --name a --port 9001
 *     curl -X PUT -d Lisbon http://127.0.0.1:9001/keys/city
 *     curl http://127.0.0.1:9001/keys/city
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { createLogs, type Log, type LogPosition, type LogReader, type LogRecord, type LogWriter, logErrors } from '@daybook/ledger/log';
import { errorCode } from '@daybook/runtime';
import { clock, connectNode, random } from './sample-cluster.js';

interface Change {
  key: string;
  value: string;
}

const valueBytesMax = 64 * 1024;

/**
 * A map whose every change is in the log before anybody hears of it. The node whose turn it is (it has the log's lock, and has fenced whoever had it before) takes
 * changes; the others follow the log, so that they are warm when their turn comes. A real store would also write its map away now and then, and truncate the log there.
 */
class KeyValueNode {
  readonly #values = new Map<string, string>();
  readonly #log: Log;
  readonly #name: string;
  #writer: LogWriter | undefined;
  #applied: LogPosition | undefined;
  #lastTxId = 0;

  constructor(log: Log, name: string) {
    this.#log = log;
    this.#name = name;
  }

  get state() {
    return { name: this.#name, role: this.#writer === undefined ? 'standby' : 'primary', keys: this.#values.size };
  }

  get isPrimary(): boolean {
    return this.#writer !== undefined;
  }

  get(key: string): string | undefined {
    return this.#values.get(key);
  }

  /** Resolves when the change would survive this process, this machine, and one of the bookies. */
  async put(change: Change): Promise<void> {
    if (this.#writer === undefined) throw new Error('this node is not the primary');
    await this.#writer.write(++this.#lastTxId, Buffer.from(JSON.stringify(change)));
    // Acknowledged in the order of the writes: the map changes in the order of the log.
    this.#values.set(change.key, change.value);
  }

  /** Follows the log until it is this node's turn, then is the primary. */
  async run(): Promise<void> {
    const stop = new AbortController();
    const following = this.#follow(await this.#log.openReader(), stop.signal);
    // Waits as long as it takes for the primary to leave or to die; then nothing it still tries to write gets into the log.
    const writer = await this.#log.openWriter({ owner: this.#name, lockWaitMs: Number.POSITIVE_INFINITY });
    stop.abort();
    await following;
    // What the old one wrote last: now the log has an end, and everything up to there was acknowledged or might have been.
    await using reader = await this.#log.openReader(this.#applied === undefined ? {} : { from: { position: this.#applied } });
    for (let records = await reader.read(); records.length > 0; records = await reader.read()) this.#apply(records);
    this.#writer = writer;
  }

  async #follow(reader: LogReader, stop: AbortSignal): Promise<void> {
    for await (const record of reader.records(stop)) this.#apply([record]);
    this.#applied = reader.position;
    await reader.close();
  }

  #apply(records: readonly LogRecord[]): void {
    for (const { txId, payload } of records) {
      const { key, value } = JSON.parse(payload.toString()) as Change;
      this.#values.set(key, value);
      this.#lastTxId = txId;
    }
  }
}

async function answer(node: KeyValueNode, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? '/';
  if (path === '/state') return void response.end(JSON.stringify(node.state));
  const key = /^\/keys\/(.+)$/.exec(path)?.[1];
  if (key === undefined) return void response.writeHead(404).end('try /state or /keys/NAME\n');
  if (!node.isPrimary) return void response.writeHead(503).end('this node is a standby\n');
  if (request.method === 'PUT') {
    let value = '';
    for await (const piece of request) {
      value += piece;
      if (value.length > valueBytesMax) return void response.writeHead(413).end('the value is too long\n');
    }
    await node.put({ key, value });
    return void response.end();
  }
  const value = node.get(key);
  if (value === undefined) response.writeHead(404).end();
  else response.end(value);
}

const { values: options } = parseArgs({ options: { metadata: { type: 'string' }, name: { type: 'string' }, port: { type: 'string' } } });
if (options.metadata === undefined || options.name === undefined) {
  console.error('Usage: kv-node --metadata URL --name NAME [--port PORT]');
  process.exit(2);
}
const { store, ledgers } = await connectNode(options.metadata);
const logs = createLogs({ store, ledgers, clock, random, options: { writeQuorumSize: 2, shrinkToAvailable: true } });
const logName = 'kv-example';
const log = await logs.create(logName).catch((error) => {
  if (logErrors.EXISTS.is(error)) return logs.open(logName);
  throw error;
});
const node = new KeyValueNode(log, options.name);
const server = createServer((request, response) => {
  answer(node, request, response).catch((error) => {
    response.writeHead(503).end(`${error.message}\n`);
    // Somebody else is the primary now: a new life begins with a new process.
    if (errorCode(error)?.startsWith('LOG_')) process.exit(1);
  });
});
server.listen(Number(options.port ?? 0), '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ name: options.name, port: (server.address() as AddressInfo).port })}\n`);
});
// Ends with whoever started it, also when that is killed.
if (!process.stdin.isTTY) process.stdin.on('end', () => process.exit(0)).resume();
await node.run();
