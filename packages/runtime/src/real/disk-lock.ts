import { closeSync, constants, openSync, readdirSync, renameSync, statSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DiskLock } from '../disk.js';
import { diskErrors } from '../disk-errors.js';
import { uuid } from '../random.js';
import { RealClock } from './clock.js';
import { diskFailure } from './disk-failure.js';
import { RealRandom } from './random.js';

/**
 * A lock without native code that the kernel ends together with the process, kill -9 included: a listening Unix socket *in the folder*.
 * Whoever wants the lock puts down a socket of its own under a fresh name, then connects to all the others there: one that answers is
 * held (its process may even be stopped), one that refuses was left by a dead process and is swept away.
 * - Of two that both got through, the later one listed the folder after the earlier one's name was there, so it saw it: at most one holds.
 *   Two that start together may both step back; they try again after random pauses.
 * - A name is listed only once its socket listens (it is renamed into place), so a living one is never taken for dead.
 * - Sockets are found through the file system, so containers that share the folder on one machine see each other (an abstract socket
 *   would not). Machines that share a folder over a network do not: one folder belongs to one machine.
 */
const lockPrefix = '.daybook-lock-';
const draftPrefix = '.daybook-locking-';
const attemptsMax = 5;
const pauseMsMax = 60;

const clock = new RealClock();
const random = new RealRandom();

/** Names the lock keeps in a folder; `RealDisk.list` does not show them. */
export function isLockName(name: string): boolean {
  return name.startsWith(lockPrefix) || name.startsWith(draftPrefix);
}

interface LockPlace {
  /** Where the names are. */
  folder: string;
  /** The same place as a short path: a socket's path has at most 107 bytes. */
  shortFolder: string;
  lockPrefix: string;
  draftPrefix: string;
  leave(): void;
}

export async function lockFolder(path: string): Promise<DiskLock> {
  const place = lockPlace(path);
  try {
    for (let attempt = 1; ; attempt++) {
      const lock = await tryLock(path, place);
      if (lock !== undefined) return lock;
      if (attempt === attemptsMax) throw diskErrors.LOCKED(path);
      await clock.sleep((random.u32() / 2 ** 32) * pauseMsMax);
    }
  } catch (error) {
    place.leave();
    throw error;
  }
}

async function tryLock(path: string, place: LockPlace): Promise<DiskLock | undefined> {
  const id = uuid(random).slice(0, 13);
  const name = place.lockPrefix + id;
  const server = await listen(path, join(place.shortFolder, place.draftPrefix + id));
  const release = async () => {
    remove(join(place.folder, name));
    await new Promise<void>((done) => server.close(() => done()));
    remove(join(place.folder, place.draftPrefix + id));
  };
  try {
    renameSync(join(place.folder, place.draftPrefix + id), join(place.folder, name));
    for (const other of readdirSync(place.folder)) {
      const isOther = (other.startsWith(place.lockPrefix) && other !== name) || other.startsWith(place.draftPrefix);
      if (!isOther) continue;
      const answers = await isAlive(join(place.shortFolder, other));
      if (!answers) remove(join(place.folder, other));
      else if (other.startsWith(place.lockPrefix)) {
        await release();
        return undefined;
      }
    }
  } catch (error) {
    await release();
    const failure = error as NodeJS.ErrnoException;
    // Somebody swept our draft away between its bind and its listen: it took it for a dead one.
    if (failure.code === 'ENOENT') return undefined;
    throw diskFailure(path, failure);
  }
  let released: Promise<void> | undefined;
  return {
    release: () => {
      released ??= release().then(place.leave);
      return released;
    },
  };
}

function listen(path: string, address: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error) => reject(diskFailure(path, error)));
    server.listen(address, () => resolve(server.unref()));
  });
}

/** Only a refusal or a missing name proves death; anything else (a full backlog, no rights) counts as alive. */
function isAlive(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'));
  });
}

/** On Linux the folder is reached through an open handle of it; elsewhere the sockets are in the temporary folder, named after the folder's inode. */
function lockPlace(path: string): LockPlace {
  if (process.platform === 'linux') {
    try {
      const handle = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
      return { folder: path, shortFolder: `/proc/self/fd/${handle}`, lockPrefix, draftPrefix, leave: () => closeSync(handle) };
    } catch (error) {
      throw diskFailure(path, error as NodeJS.ErrnoException);
    }
  }
  const { dev, ino } = statSync(path);
  const key = `${dev.toString(36)}-${ino.toString(36)}-`;
  const folder = tmpdir();
  return { folder, shortFolder: folder, lockPrefix: lockPrefix + key, draftPrefix: draftPrefix + key, leave: () => undefined };
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
