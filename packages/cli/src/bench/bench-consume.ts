import { topicPath } from '@daybook/client';
import { clientOf } from '../connection.js';
import { type ConsumeBenchOptions, freshTopic, serverPids } from './bench-options.js';
import { startConsuming } from './consuming.js';
import { Latencies } from './latencies.js';
import { failure, pause } from './phases.js';
import { CpuMeter } from './process-cpu.js';
import { Producing } from './producing.js';
import { count, cpuText, tellProgress, tellResult } from './report.js';

const subscription = 'bench';
/** The first part of the backlog warms up and does not count. */
const warmUpShare = 0.1;

/** How many messages per second of a backlog one consumer gets that acknowledges each of them. */
export async function benchConsume(topic: string = freshTopic(), options: ConsumeBenchOptions): Promise<void> {
  const { messages, size: messageBytes, queue: receiverQueueSize, url, token } = options;
  const path = topicPath(topic);
  await clientOf(options).admin.call('PUT', `/admin/v2/${path}/subscription/${subscription}`, 'earliest');
  tellProgress(`filling ${topic} with ${count(messages)} messages of ${messageBytes} bytes ...`);
  await fill(options, path);
  const pids = serverPids(options);
  const { promise: failed, fail: onFailure } = failure();
  const warmUp = Math.floor(messages * warmUpShare);
  let received = 0;
  let cpu = new CpuMeter(pids);
  let beganMs = performance.now();
  let done: () => void = () => undefined;
  const all = new Promise<void>((resolve) => {
    done = resolve;
  });
  const onMessage = (): void => {
    if (++received === warmUp) {
      cpu = new CpuMeter(pids);
      beganMs = performance.now();
    }
    if (received === messages) done();
  };
  const consumer = await startConsuming({ url, token, topicPath: path, subscription, receiverQueueSize, onMessage, onFailure });
  const isDone = all.then(() => true);
  for (let before = 0; !(await Promise.race([isDone, failed, pause(1_000).then(() => false)])); before = received) {
    tellProgress(`${count(received)} of ${count(messages)} received, ${count(received - before)} messages/s`);
  }
  const seconds = (performance.now() - beganMs) / 1000;
  const cpuEach = cpu.perOperation(messages - warmUp);
  consumer.stop();
  const rate = (messages - warmUp) / seconds;
  const lines = [
    `${count(messages - warmUp)} messages of ${messageBytes} bytes received and acknowledged in ${seconds.toFixed(1)} s: ${count(rate)} messages/s`,
    cpuText(cpuEach, 'message'),
  ];
  const given = { topic, messageBytes, receiverQueueSize, messages: messages - warmUp };
  tellResult(lines, { bench: 'consume', ...given, seconds, messagesPerSecond: Math.round(rate), ...cpuEach }, options.json);
}

async function fill({ url, token, size: messageBytes, messages }: ConsumeBenchOptions, path: string): Promise<void> {
  const { promise: failed, fail: onFailure } = failure();
  const latencies = new Latencies();
  const producer = await Producing.start({
    url,
    token,
    topicPath: path,
    messageBytes,
    unansweredMax: 1_000,
    messagesMax: messages,
    latencies,
    onFailure,
  });
  while (producer.answered < messages) await Promise.race([pause(50), failed]);
  await producer.stop();
}
