import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { BookieStatus } from './bookie-api.js';
import { entryOf } from './testing/batches.js';
import type { BookieCommand } from './testing/bookie-program.js';

const program = fileURLToPath(new URL('./testing/bookie-program.js', import.meta.url));

/** A bookie process that is killed, never asked to end. */
class BookieProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  #nextId = 0;
  hasEnded = false;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static start(folder: string): Promise<{ process: BookieProcess; status: BookieStatus }> {
    const child = fork(program, [folder], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const process = new BookieProcess(child);
    return new Promise((resolve, reject) => {
      child.on('exit', (code, signal) => {
        process.hasEnded = true;
        const error = new Error(`the bookie ended: ${code ?? signal}`);
        reject(error);
        for (const waiting of process.#waiting.values()) waiting.reject(error);
      });
      child.on('message', (message: { ready?: BookieStatus; id?: number; reply?: unknown; error?: string; fatal?: string }) => {
        if (message.ready !== undefined) resolve({ process, status: message.ready });
        if (message.id === undefined) return;
        const waiting = process.#waiting.get(message.id);
        process.#waiting.delete(message.id);
        if (message.error !== undefined) waiting?.reject(new Error(message.error));
        else waiting?.resolve(message.reply as never);
      });
    });
  }

  ask<T>(command: BookieCommand): Promise<T> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, command });
    });
  }

  /** Does something while the bookie stands still, whatever it was about to do. */
  async whileStopped(task: () => void): Promise<void> {
    this.#child.kill('SIGSTOP');
    // Under load it may take a while until it does.
    for (let tries = 0; !this.#isStopped() && tries < 1000; tries++) await new Promise((resolve) => setTimeout(resolve, 5));
    task();
    this.#child.kill('SIGCONT');
  }

  #isStopped(): boolean {
    return this.hasEnded || / T /.test(readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8'));
  }

  kill(): Promise<void> {
    return new Promise((resolve) => {
      if (this.hasEnded) return resolve();
      this.#child.on('exit', () => resolve());
      this.#child.kill('SIGKILL');
    });
  }
}

function mountTmpfs(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m', 'none', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Takes every last byte of the disk. */
function fill(path: string): void {
  const file = openSync(path, 'a');
  for (const size of [1 << 20, 1 << 16, 4096, 512, 1]) {
    const zeros = Buffer.alloc(size);
    for (;;) {
      try {
        if (writeSync(file, zeros) < size) break;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        break;
      }
    }
  }
  closeSync(file);
}

const count = 50;
const bytes = 1000;

/** Appends to three ledgers at once until one batch is refused, at most `batchesMax` each; notes what was acknowledged. */
async function appendUntilRefused(bookie: BookieProcess, acknowledged: Map<number, number[]>, batchesMax: number): Promise<string> {
  const codes = await Promise.all(
    [1, 2, 3].map(async (ledger) => {
      const batches = acknowledged.get(ledger) ?? [];
      acknowledged.set(ledger, batches);
      let first = (batches.at(-1) ?? -count) + count;
      for (let i = 0; i < batchesMax; i++, first += count) {
        const code = await bookie.ask<string>({ kind: 'append', ledger, first, count, bytes });
        if (code !== 'OK') return code;
        batches.push(first);
      }
      return 'OK';
    }),
  );
  return codes.find((code) => code !== 'OK') ?? 'OK';
}

async function verify(bookie: BookieProcess, acknowledged: Map<number, number[]>): Promise<number> {
  let missing = 0;
  for (const [ledger, batches] of acknowledged) {
    for (const first of batches) {
      const entryIds = [first, first + count - 1];
      const { code, entries } = await bookie.ask<{ code: string; entries: string[] }>({ kind: 'read', ledger, entryIds });
      const isWhole =
        code === 'OK' &&
        entries.length === 2 &&
        entries.every((entry, i) => Buffer.from(entry, 'base64').equals(entryOf(ledger, entryIds[i] as number, bytes)));
      if (!isWhole) missing++;
    }
  }
  return missing;
}

async function until(bookie: BookieProcess, isReadOnly: boolean, triesMax = 100): Promise<BookieStatus> {
  for (let tries = 0; ; tries++) {
    const status = await bookie.ask<BookieStatus>({ kind: 'status' });
    if (status.isReadOnly === isReadOnly || tries > triesMax) return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

t.test('real process on a tiny disk: filled to the last byte and freed → nothing acknowledged lost, writable without a restart', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'daybook-bookie-'));
  if (!mountTmpfs(folder)) {
    rmSync(folder, { recursive: true });
    return t.comment('skipped: mounting is not allowed here');
  }
  const acknowledged = new Map<number, number[]>();
  let bookie: BookieProcess | undefined;
  try {
    ({ process: bookie } = await BookieProcess.start(folder));
    t.equal(await appendUntilRefused(bookie, acknowledged, 30), 'OK');
    await new Promise((resolve) => setTimeout(resolve, 1200));
    for (let round = 0; round < 2; round++) {
      // Somebody else fills the disk while appends are under way. In one go: else, on a busy machine, the bookie notices half-way and gives its reserve away, and
      // the filler takes that as well; then there is no room for a fence, and none was promised.
      let status: BookieStatus | undefined;
      for (let tries = 0; tries < 5 && !status?.isReadOnly; tries++) {
        const appending = appendUntilRefused(bookie, acknowledged, 1000);
        await new Promise((resolve) => setTimeout(resolve, 20));
        await bookie.whileStopped(() => fill(join(folder, 'filler')));
        t.equal(await appending, 'READ_ONLY');
        t.notOk(bookie.hasEnded, 'the process lives');
        // What it gave back itself, a used-up journal file say, may be enough to go on.
        status = await until(bookie, true, 10);
      }
      t.match(status, { state: 'running', isReadOnly: true, readOnlyReasons: [{ kind: 'disk full' }] });
      t.equal(await verify(bookie, acknowledged), 0, 'everything is served');
      t.match(await bookie.ask<string>({ kind: 'fence', ledger: 100 + round }), /OK|NO_ENTRY/, 'fencing works');
      fill(join(folder, 'filler'));
      if (round === 1) {
        await bookie.kill();
        const again = await BookieProcess.start(folder);
        bookie = again.process;
        t.equal(again.status.isReadOnly, true, 'comes up read-only on a full disk');
        t.equal(await verify(bookie, acknowledged), 0);
      }
      unlinkSync(join(folder, 'filler'));
      t.equal((await until(bookie, false)).isReadOnly, false, 'writable again by itself');
      t.equal(await appendUntilRefused(bookie, acknowledged, 5), 'OK');
    }
    // And once more by its own entries.
    t.equal(await appendUntilRefused(bookie, acknowledged, 10_000), 'READ_ONLY');
    t.equal(await verify(bookie, acknowledged), 0);
    await bookie.kill();
    ({ process: bookie } = await BookieProcess.start(folder));
    t.equal(await verify(bookie, acknowledged), 0, 'after kill -9');
    for (const ledger of [100, 101]) t.equal(await bookie.ask<string>({ kind: 'append', ledger, first: 0, count: 1, bytes }), 'FENCED');
    t.comment(`${[...acknowledged.values()].reduce((sum, batches) => sum + batches.length * count, 0)} entries`);
  } finally {
    await bookie?.kill();
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  }
});
