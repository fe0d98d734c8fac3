import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Lifecycle } from '@daybook/runtime';
import { ClusterFolder } from '../cluster/cluster-folder.js';
import { LocalCluster } from '../cluster/local-cluster.js';
import { withLedgers } from '../ledger/ledger-session.js';
import { Appending } from './appending.js';
import type { LedgerBenchOptions } from './bench-options.js';
import { Latencies } from './latencies.js';
import { failure, runPhases } from './phases.js';
import { CpuMeter } from './process-cpu.js';
import { count, cpuText, latencyText, tellProgress, tellResult } from './report.js';

/** The ledger client alone, without a broker: against a given cluster, or against bookies that are started for it in a temporary folder. */
export async function benchLedger(options: LedgerBenchOptions): Promise<void> {
  if (options.metadata !== undefined) return await measure(options.metadata, options.pids ?? [], options);
  const path = await mkdtemp(join(tmpdir(), 'daybook-bench-'));
  const lifecycle = new Lifecycle();
  lifecycle.onClose('folder', () => rm(path, { recursive: true, force: true }));
  const stop = (): void => void lifecycle.close().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    const cluster = new LocalCluster(new ClusterFolder(path), lifecycle, tellProgress);
    const { bookies: bookiesCount, set: settings } = options;
    const request = { bookiesCount, brokersCount: 0, firstBrokerPort: 0, host: '127.0.0.1', settings, environment: process.env };
    const { metadata, members } = await cluster.start(request);
    await measure(
      metadata,
      members.filter(({ role }) => role === 'bookie').map(({ pid }) => pid),
      options,
    );
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
    await lifecycle.close();
  }
}

async function measure(metadata: string, pids: readonly number[], options: LedgerBenchOptions): Promise<void> {
  const { ensemble, writeQuorum, ackQuorum, size: entryBytes, outstanding: unansweredMax } = options;
  await withLedgers({ metadata }, async ({ ledgers }) => {
    const quorums = { ensembleSize: ensemble, writeQuorumSize: writeQuorum, ackQuorumSize: ackQuorum };
    const writer = await ledgers.create({ ...quorums, password: Buffer.alloc(0) });
    tellProgress(
      `appending to ledger ${writer.ledgerId} (${ensemble}/${writeQuorum}/${ackQuorum}): ${entryBytes} bytes an entry, ${unansweredMax} unconfirmed`,
    );
    const latencies = new Latencies();
    const { promise: failed, fail: onFailure } = failure();
    const appending = new Appending({ writer, entryBytes, unansweredMax, latencies, onFailure });
    let cpu = new CpuMeter(pids);
    const { seconds, done } = await runPhases({
      warmUpSeconds: options.warmUp,
      seconds: options.seconds,
      unit: 'entries',
      failed,
      done: () => appending.confirmed,
      onMeasure: () => {
        latencies.clear();
        cpu = new CpuMeter(pids);
      },
    });
    const cpuEach = cpu.perOperation(done);
    const latency = latencies.summary();
    await Promise.race([appending.stop(), failed]);
    await writer.close();
    await ledgers.delete(writer.ledgerId);
    const rate = done / seconds;
    const lines = [
      `${count(done)} entries of ${entryBytes} bytes confirmed in ${seconds.toFixed(1)} s: ${count(rate)} entries/s, ${((rate * entryBytes) / 1024 / 1024).toFixed(1)} MiB/s`,
      `append latency: ${latencyText(latency)}`,
      cpuText(cpuEach, 'entry', 'all bookies together'),
    ];
    const given = { entryBytes, unansweredMax, ensemble, writeQuorum, ackQuorum };
    tellResult(lines, { bench: 'ledger', ...given, entries: done, seconds, entriesPerSecond: Math.round(rate), latency, ...cpuEach }, options.json);
  });
}
