import { topicPath } from '@daybook/client';
import { clientOf } from '../connection.js';
import { type EndToEndBenchOptions, freshTopic, serverPids } from './bench-options.js';
import { startConsuming } from './consuming.js';
import { clientFrame } from './frames.js';
import { Latencies } from './latencies.js';
import { LoadSocket } from './load-socket.js';
import { failure, pause, runPhases } from './phases.js';
import { CpuMeter } from './process-cpu.js';
import { count, cpuText, latencyText, tellProgress, tellResult } from './report.js';

const subscription = 'bench';
/** Decimal digits of the message's number at the beginning of its payload: 12 bytes are 16 characters of base64. */
const numberBytes = 12;
const payloadName = Buffer.from('"payload":"');
const ok = Buffer.from('"result":"ok"');

/**
 * Latencies at a steady rate, below saturation: from when a message was due to be sent until its acknowledgement, and until a consumer has it. Due times, and
 * not the moments of sending, so that a server that stands still shows in the figures of every message that had to wait.
 */
export async function benchEndToEnd(topic: string = freshTopic(), options: EndToEndBenchOptions): Promise<void> {
  const { url, token, rate, size, warmUp: warmUpSeconds } = options;
  const path = topicPath(topic);
  await clientOf(options).admin.call('PUT', `/admin/v2/${path}/subscription/${subscription}`, 'earliest');
  tellProgress(`${count(rate)} messages/s of ${size} bytes through ${topic}`);
  const { promise: failed, fail: onFailure } = failure();
  const publish = new Latencies();
  const endToEnd = new Latencies();
  const pids = serverPids(options);
  let cpu = new CpuMeter(pids);
  let startMs = 0;
  const dueMs = (number: number): number => startMs + (number * 1000) / rate;
  let answered = 0;
  const producer = await LoadSocket.open({
    url,
    token,
    path: `/ws/v2/producer/${path}`,
    onLost: onFailure,
    onText: (bytes, start, end) => {
      const at = bytes.indexOf(ok, start);
      if (at < 0 || at >= end) return onFailure(`a message was refused: ${bytes.toString('utf8', start, end)}`);
      publish.add(performance.now() - dueMs(answered++));
    },
  });
  let received = 0;
  const onMessage = (bytes: Buffer, start: number): void => {
    const at = bytes.indexOf(payloadName, start) + payloadName.length;
    endToEnd.add(performance.now() - dueMs(Number(Buffer.from(bytes.toString('latin1', at, at + 16), 'base64').toString('latin1'))));
    received++;
  };
  const consumer = await startConsuming({ url, token, topicPath: path, subscription, receiverQueueSize: 1_000, onMessage, onFailure });
  const sending = new SteadySending({ rate, messageBytes: size, send: (frame) => producer.send(frame) });
  startMs = sending.start();
  const onMeasure = (): void => {
    publish.clear();
    endToEnd.clear();
    cpu = new CpuMeter(pids);
  };
  const { seconds, done } = await runPhases({ warmUpSeconds, seconds: options.seconds, unit: 'messages', failed, done: () => received, onMeasure });
  const cpuEach = cpu.perOperation(done);
  const latency = { publish: publish.summary(), endToEnd: endToEnd.summary() };
  sending.stop();
  await Promise.race([pause(500), failed]);
  producer.close();
  consumer.stop();
  const lines = [
    `${count(done)} messages of ${size} bytes in ${seconds.toFixed(1)} s: ${count(done / seconds)} messages/s`,
    `publish latency:    ${latencyText(latency.publish)}`,
    `end-to-end latency: ${latencyText(latency.endToEnd)}`,
    cpuText(cpuEach, 'message'),
  ];
  tellResult(lines, { bench: 'e2e', topic, messageBytes: size, rate, messages: done, seconds, latency, ...cpuEach }, options.json);
}

interface SteadySendingOptions {
  rate: number;
  messageBytes: number;
  send(frame: Buffer): void;
}

/** Sends what is due, at each turn of a timer: catches up when it was held up, never sends less. */
class SteadySending {
  readonly #options: SteadySendingOptions;
  readonly #filler: string;
  #startMs = 0;
  #sent = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SteadySendingOptions) {
    this.#options = options;
    this.#filler = Buffer.alloc(Math.max(0, options.messageBytes - numberBytes), 'daybook ').toString('base64');
  }

  start(): number {
    this.#startMs = performance.now();
    this.#timer = setInterval(() => this.#sendDue(), 1);
    return this.#startMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #sendDue(): void {
    const due = ((performance.now() - this.#startMs) * this.#options.rate) / 1000;
    for (; this.#sent < due; this.#sent++) {
      const number = Buffer.from(String(this.#sent).padStart(numberBytes, '0')).toString('base64');
      this.#options.send(clientFrame(Buffer.from(`{"payload":"${number}${this.#filler}"}`, 'latin1')));
    }
  }
}
