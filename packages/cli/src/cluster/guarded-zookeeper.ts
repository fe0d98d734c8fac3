import { type ChildProcess, spawn } from 'node:child_process';
import { findZooKeeper, ZooKeeperServer } from '@daybook/metadata/local-zookeeper';
import { cliErrors } from '../errors.js';

/**
 * The cluster's ZooKeeper server, with a guard: Java cannot be told to end with us, so a small shell waits for its standard input, which closes when we are
 * gone (kill -9 included), and then ends the server.
 */
export class GuardedZooKeeper {
  readonly server: ZooKeeperServer;
  readonly #guard: ChildProcess;

  private constructor(server: ZooKeeperServer, guard: ChildProcess) {
    this.server = server;
    this.#guard = guard;
  }

  static async start(options: { dataDirectory: string; port: number; logFile: string }): Promise<GuardedZooKeeper> {
    const found = await findZooKeeper();
    if ('missing' in found) throw cliErrors.NO_ZOOKEEPER(found.missing);
    const server = await ZooKeeperServer.start({ ...options, isDetached: true });
    const guard = spawn('/bin/sh', ['-c', 'read -r line; kill -9 "$1"', 'guard', String(server.pid)], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    // Its pid may belong to somebody else later: the guard ends with the server.
    void server.ended().then(() => guard.kill('SIGKILL'));
    return new GuardedZooKeeper(server, guard);
  }

  async stop(): Promise<void> {
    this.#guard.kill('SIGKILL');
    await this.server.stop();
  }
}
