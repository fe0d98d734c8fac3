import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterMember } from '../cluster/cluster-folder.js';
import type { ConnectionOptions } from '../connection.js';
import { cliErrors } from '../errors.js';

/** Options that every bench takes. */
export interface LoadOptions {
  size: number;
  seconds: number;
  warmUp: number;
  json?: boolean;
}

export interface BrokerLoadOptions extends LoadOptions, ConnectionOptions {
  pids?: number[];
  cluster?: string;
}

export interface ProduceBenchOptions extends BrokerLoadOptions {
  outstanding: number;
  sockets: number;
}

export interface ConsumeBenchOptions extends BrokerLoadOptions {
  messages: number;
  queue: number;
}

export interface EndToEndBenchOptions extends BrokerLoadOptions {
  rate: number;
}

export interface LedgerBenchOptions extends LoadOptions {
  metadata?: string;
  outstanding: number;
  bookies: number;
  ensemble: number;
  writeQuorum: number;
  ackQuorum: number;
  pids?: number[];
  set: Record<string, string>;
}

/** The servers whose CPU is counted: those named, and all members of a local cluster. */
export function serverPids(options: { pids?: number[]; cluster?: string }): number[] {
  const pids = [...(options.pids ?? [])];
  if (options.cluster !== undefined) pids.push(...membersOf(options.cluster).map(({ pid }) => pid));
  return pids;
}

function membersOf(folder: string): ClusterMember[] {
  const file = join(folder, 'cluster.json');
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ClusterMember[];
  } catch (error) {
    throw cliErrors.USAGE(`--cluster ${folder}: ${file} cannot be read; does 'daybook cluster --data ${folder}' run?`, { cause: error });
  }
}

/** A topic nobody has used. */
export function freshTopic(): string {
  return `bench-${Date.now().toString(36)}-${process.pid}`;
}
