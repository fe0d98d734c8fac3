/**
 * A key-value store whose write-ahead log is a named log: the primary is killed with kill -9, the standby takes over, nothing acknowledged is missing.
 *
 *     npm run example kv-store
 *     npm run example kv-store -- --metadata zk://127.0.0.1:2181/daybook
 *
 * The nodes (kv-node.ts) are processes of their own. Without a cluster, three bookies and the metadata live in this process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { clock, metadataOption, openSampleCluster } from './sample-cluster.js';

interface RunningNode {
  readonly name: string;
  readonly url: string;
  readonly process: ChildProcess;
}

export interface KeyValueOutcome {
  acknowledged: number;
  /** Keys that were acknowledged and are not there with that value. There are none. */
  missing: string[];
  takeOverMs: number;
}

export async function keyValueStory(metadataUrl: string | undefined, print: (line: string) => void): Promise<KeyValueOutcome> {
  await using cluster = await openSampleCluster(metadataUrl, { isShared: true });
  const nodes: RunningNode[] = [];
  try {
    const start = async (name: string) => {
      const node = await startNode(name, cluster.metadataUrl as string);
      nodes.push(node);
      return node;
    };
    const a = await start('a');
    await untilPrimary(a);
    const b = await start('b');
    print(`node a is the primary (process ${a.process.pid}), node b follows`);

    const acknowledged = new Map<string, string>();
    for (let i = 0; i < 20; i++) await put(a, `key-${i}`, `value ${i} of a`, acknowledged);
    print(`${acknowledged.size} keys written to a`);

    // Writes are under way when it is killed: some will have been acknowledged, for others nobody can say.
    const writing = Promise.all(Array.from({ length: 8 }, (_, writer) => writeUntilItFails(a, writer, acknowledged)));
    await clock.sleep(150);
    a.process.kill('SIGKILL');
    const killedMs = clock.monoMs();
    print('kill -9 for a, in the middle of writing');
    await writing;

    await untilPrimary(b);
    const takeOverMs = Math.round(clock.monoMs() - killedMs);
    print(`node b took over after ${takeOverMs} ms`);
    const missing: string[] = [];
    for (const [key, value] of acknowledged) if ((await get(b, key)) !== value) missing.push(key);
    print(`${acknowledged.size} keys were acknowledged, ${missing.length} of them are missing`);

    await put(b, 'key-0', 'changed by b', acknowledged);
    print(`b goes on: key-0 is "${await get(b, 'key-0')}"`);
    return { acknowledged: acknowledged.size, missing, takeOverMs };
  } finally {
    await Promise.all(nodes.map(stopNode));
  }
}

async function startNode(name: string, metadataUrl: string): Promise<RunningNode> {
  const file = fileURLToPath(new URL('./kv-node.js', import.meta.url));
  const child = spawn(process.execPath, [file, '--metadata', metadataUrl, '--name', name], { stdio: ['pipe', 'pipe', 'inherit'] });
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`node ${name} ended with ${code} before it was ready`)));
  });
  return { name, url: `http://127.0.0.1:${JSON.parse(line).port}`, process: child };
}

async function stopNode({ process: child }: RunningNode): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

/** A session of a killed process lasts until its time-out; with ZooKeeper that is some seconds. */
async function untilPrimary(node: RunningNode): Promise<void> {
  for (let waits = 0; waits < 3_000; waits++) {
    const state = (await (await fetch(`${node.url}/state`)).json()) as { role: string };
    if (state.role === 'primary') return;
    await clock.sleep(20);
  }
  throw new Error(`node ${node.name} did not become the primary`);
}

async function put(node: RunningNode, key: string, value: string, acknowledged: Map<string, string>): Promise<void> {
  const response = await fetch(`${node.url}/keys/${key}`, { method: 'PUT', body: value });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  acknowledged.set(key, value);
}

async function get(node: RunningNode, key: string): Promise<string | undefined> {
  const response = await fetch(`${node.url}/keys/${key}`);
  return response.ok ? response.text() : undefined;
}

async function writeUntilItFails(node: RunningNode, writer: number, acknowledged: Map<string, string>): Promise<void> {
  try {
    for (let i = 0; ; i++) await put(node, `busy-${writer}-${i}`, `value ${i}`, acknowledged);
  } catch {
    // The node was killed.
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { missing } = await keyValueStory(metadataOption(), (line) => process.stdout.write(`${line}\n`));
  process.exitCode = missing.length === 0 ? 0 : 1;
}
