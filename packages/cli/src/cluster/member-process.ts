import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { ProcessEnd } from '@daybook/metadata/local-zookeeper';
import { cliErrors } from '../errors.js';
import { isReadyMessage } from '../life.js';
import { daybookCommand } from '../package-files.js';
import type { MemberPlan } from './cluster-plan.js';

/** After a polite request to end; then it is killed. */
const endMsMax = 10_000;

/**
 * A broker or bookie as a child process. It has a process group of its own, so that Ctrl-C reaches only us and the members end in order; the IPC channel to it
 * makes it end with us even when we are killed.
 */
export class MemberProcess {
  readonly plan: MemberPlan;
  readonly logFile: string;
  /** `host:port`, once it is ready; rejects when it ends before. */
  readonly ready: Promise<string>;
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;

  constructor(plan: MemberPlan, logFile: string) {
    this.plan = plan;
    this.logFile = logFile;
    const log = openSync(logFile, 'a');
    this.#child = spawn(process.execPath, [...process.execArgv, daybookCommand, ...plan.arguments], {
      stdio: ['ignore', log, log, 'ipc'],
      env: { ...plan.environment },
      detached: true,
    });
    closeSync(log);
    this.ended = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
      this.#child.once('error', () => resolve({ code: 1, signal: null }));
    });
    const announced = new Promise<string>((resolve) => {
      this.#child.on('message', (message) => {
        if (isReadyMessage(message)) resolve(message.ready.address);
      });
    });
    this.ready = Promise.race([
      announced,
      this.ended.then((end) => {
        throw cliErrors.MEMBER_FAILED(plan.name, endText(end), logFile, lastLine(logFile));
      }),
    ]);
    this.ready.catch(() => undefined); // Whoever waits for it is told; a member that ends later is no unhandled rejection.
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), endMsMax);
    await this.ended;
    clearTimeout(timer);
  }
}

export function endText({ code, signal }: ProcessEnd): string {
  return signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
}

function lastLine(file: string): string {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.findLast((line) => line.startsWith('daybook: '))?.slice('daybook: '.length) ?? lines.at(-1) ?? '';
}
