import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { MemberRole } from './cluster-plan.js';

/** One row of `cluster.json`. */
export interface ClusterMember {
  role: MemberRole;
  pid: number;
  /** `host:port`: of a broker its HTTP port, of a bookie its gRPC port. */
  address: string;
}

/** What is remembered between runs, so that the members keep their addresses. */
export type RememberedPorts = Partial<Record<string, number>>;

/** The folder of a local cluster: `cluster.json` while it runs, `ports.json`, `logs/`, and a folder for each member's data. */
export class ClusterFolder {
  readonly path: string;
  constructor(path: string) {
    this.path = resolve(path);
    mkdirSync(join(this.path, 'logs'), { recursive: true });
  }

  logFile(name: string): string {
    return join(this.path, 'logs', `${name}.log`);
  }

  data(name: string): string {
    return join(this.path, name);
  }

  get membersFile(): string {
    return join(this.path, 'cluster.json');
  }

  /** Whoever waits for the file to appear finds all of it. */
  writeMembers(members: readonly ClusterMember[]): void {
    this.#replace(this.membersFile, members);
  }

  removeMembers(): void {
    rmSync(this.membersFile, { force: true });
  }

  readPorts(): RememberedPorts {
    try {
      const ports: unknown = JSON.parse(readFileSync(join(this.path, 'ports.json'), 'utf8'));
      return typeof ports === 'object' && ports !== null ? (ports as RememberedPorts) : {};
    } catch {
      return {};
    }
  }

  writePorts(ports: RememberedPorts): void {
    this.#replace(join(this.path, 'ports.json'), ports);
  }

  #replace(file: string, content: unknown): void {
    writeFileSync(`${file}.new`, `${JSON.stringify(content, undefined, 2)}\n`);
    renameSync(`${file}.new`, file);
  }
}
