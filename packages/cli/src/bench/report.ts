import type { LatencySummary } from './latencies.js';

export interface BenchReport {
  bench: string;
  [name: string]: unknown;
}

const integers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export const count = (value: number): string => integers.format(value);
export const ms = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(1)} ms`;

export function latencyText({ p50Ms, p99Ms, p999Ms, maxMs }: LatencySummary): string {
  return `p50 ${ms(p50Ms)}, p99 ${ms(p99Ms)}, p99.9 ${ms(p999Ms)}, max ${ms(maxMs)}`;
}

export function cpuText(cpu: { clientCpuUs: number; serverCpuUs: number | undefined }, each: string, server = 'server'): string {
  const theirs = cpu.serverCpuUs === undefined ? '' : `, ${server} ${cpu.serverCpuUs} us`;
  return `CPU per ${each}: client ${cpu.clientCpuUs} us${theirs}`;
}

/** Progress goes to standard error, results to standard output. */
export function tellProgress(line: string): void {
  process.stderr.write(`${line}\n`);
}

export function tellResult(lines: readonly string[], report: BenchReport, asJson: boolean | undefined): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
  if (asJson) process.stdout.write(`${JSON.stringify(report)}\n`);
}
