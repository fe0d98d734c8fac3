import { topicPath } from '@daybook/client';
import { freshTopic, type ProduceBenchOptions, serverPids } from './bench-options.js';
import { Latencies } from './latencies.js';
import { failure, runPhases } from './phases.js';
import { CpuMeter } from './process-cpu.js';
import { Producing } from './producing.js';
import { count, cpuText, latencyText, tellProgress, tellResult } from './report.js';

/** How many messages per second get their acknowledgement when a fixed number is always under way. */
export async function benchProduce(topic: string = freshTopic(), options: ProduceBenchOptions): Promise<void> {
  const { url, token, size: messageBytes, outstanding: unansweredMax, sockets: socketsCount } = options;
  tellProgress(`producing to ${topic}: ${messageBytes} bytes a message, ${socketsCount} socket(s) with ${unansweredMax} unanswered each`);
  const pids = serverPids(options);
  const latencies = new Latencies();
  const { promise: failed, fail: onFailure } = failure();
  const common = { url, token, topicPath: topicPath(topic), messageBytes, unansweredMax, latencies, onFailure };
  const sockets = await Promise.all(Array.from({ length: socketsCount }, () => Producing.start(common)));
  let cpu = new CpuMeter(pids);
  const { seconds, done } = await runPhases({
    warmUpSeconds: options.warmUp,
    seconds: options.seconds,
    unit: 'messages',
    failed,
    done: () => sockets.reduce((sum, socket) => sum + socket.answered, 0),
    onMeasure: () => {
      latencies.clear();
      cpu = new CpuMeter(pids);
    },
  });
  const cpuEach = cpu.perOperation(done);
  const latency = latencies.summary();
  await Promise.race([Promise.all(sockets.map((socket) => socket.stop())), failed]);
  const rate = done / seconds;
  const lines = [
    `${count(done)} messages of ${messageBytes} bytes acknowledged in ${seconds.toFixed(1)} s: ${count(rate)} messages/s, ${((rate * messageBytes) / 1024 / 1024).toFixed(1)} MiB/s`,
    `publish latency: ${latencyText(latency)}`,
    cpuText(cpuEach, 'message'),
  ];
  const given = { topic, messageBytes, socketsCount, unansweredMax };
  tellResult(lines, { bench: 'produce', ...given, messages: done, seconds, messagesPerSecond: Math.round(rate), latency, ...cpuEach }, options.json);
}
