/**
 * What an idle topic with one producer socket costs: opens many against a running server, publishes one message to each, and says how long that took and how
 * much larger the server has become. Linux only.
 *
 *     node packages/broker/dist/bench/idle-topics.js --pid $(pgrep -f 'daybook.js standalone') --url ws://127.0.0.1:8080 --topics 1000
 */
import { parseArgs } from 'node:util';
import { RealClock, RealDisk } from '@daybook/runtime/real';
import { WebSocket } from 'ws';

const settleMs = 3000;
const openingAtOnce = 50;

const { values } = parseArgs({
  options: {
    pid: { type: 'string' },
    url: { type: 'string', default: 'ws://127.0.0.1:8080' },
    topics: { type: 'string', default: '1000' },
  },
});
if (values.pid === undefined) throw new Error('--pid: the process of the server');
const topicsCount = Number(values.topics);
const clock = new RealClock();
const run = clock.wallMs();

/** Resolves when its one message is acknowledged; the socket stays open. */
function openTopic(index: number): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${values.url}/ws/v2/producer/persistent/public/default/idle-${run}-${index}`, { perMessageDeflate: false });
    socket.on('open', () => socket.send('{"payload":"aGVsbG8="}'));
    socket.on('message', () => resolve(socket));
    socket.on('error', reject);
  });
}

async function residentKibibytes(): Promise<number> {
  const file = await new RealDisk().open(`/proc/${values.pid}/status`, { mode: 'read' });
  const text = Buffer.alloc(4096);
  await file.readAt(0, text);
  await file.close();
  return Number(/VmRSS:\s+(\d+)/.exec(text.toString('latin1'))?.[1]);
}

const before = await residentKibibytes();
const startMs = clock.monoMs();
const sockets: WebSocket[] = [];
let next = 0;
const worker = async () => {
  while (next < topicsCount) sockets.push(await openTopic(next++));
};
await Promise.all(Array.from({ length: openingAtOnce }, worker));
const openedMs = Math.round(clock.monoMs() - startMs);
await clock.sleep(settleMs);
const after = await residentKibibytes();
const perTopic = Number(((after - before) / topicsCount).toFixed(1));
console.log(JSON.stringify({ topics: topicsCount, openedMs, residentBeforeKiB: before, residentAfterKiB: after, residentPerTopicKiB: perTopic }));
for (const socket of sockets) socket.terminate();
