import { parentOf } from './metadata-path.js';
import { type NodeData, type NodeKind, type ZooKeeperClient, ZooKeeperFailure } from './zookeeper-client.js';

/**
 * Writes that know what to do when the answer to an earlier attempt was lost (`isAfterLoss`). They read first:
 *
 * | write | what is there now | so |
 * |---|---|---|
 * | create | nothing | try again (a late first attempt shows as NODE_EXISTS, and is settled once more) |
 * | create | our session's ephemeral value, same bytes | it was ours: done |
 * | create | another value | EXISTS |
 * | create | the same bytes | cannot be told: somebody may have written just that |
 * | create sequential | | cannot be told: the number is not known |
 * | version v | version v | try again |
 * | version v | v+1, other bytes; or an older version (made again) | BAD_VERSION |
 * | version v | v+1, same bytes; gone; more than v+1 | cannot be told |
 * | any version | | write again |
 * | delete v | version v, or another one | try again (it says BAD_VERSION by itself) |
 * | delete v | gone | cannot be told who did it |
 * | delete any | gone | done |
 *
 * "Cannot be told" becomes METADATA_UNAVAILABLE: the caller knows more (tokens, contents) and compares. All failures are {@link ZooKeeperFailure}.
 */
export interface Write {
  client: ZooKeeperClient;
  /** With the store's root. */
  path: string;
  value: Buffer;
  isAfterLoss: boolean;
}

/** The reason of a failure that cannot be told from a success. */
export const unknownOutcome = 'UNKNOWN_OUTCOME';
/** How often a write begins again because somebody removes what it has just found or made. */
const roundsMax = 20;
const tooManyRounds = 'others keep changing this path';

export interface Written {
  path: string;
  version: number;
}

export async function createNode(write: Write, how: { isEphemeral: boolean; isSequential: boolean }): Promise<Written> {
  if (write.isAfterLoss) {
    if (how.isSequential) throw new ZooKeeperFailure(unknownOutcome);
    const settled = await settleCreate(write, how.isEphemeral);
    if (settled !== undefined) return settled;
  }
  const kind: NodeKind = how.isSequential
    ? how.isEphemeral
      ? 'ephemeralSequential'
      : 'persistentSequential'
    : how.isEphemeral
      ? 'ephemeral'
      : 'persistent';
  for (let round = 0; round < roundsMax; round++) {
    try {
      return { path: await write.client.create(write.path, write.value, kind), version: 0 };
    } catch (failure) {
      if (isFailure(failure, 'NO_NODE')) await makeParents(write);
      else if (isFailure(failure, 'NODE_EXISTS') && write.isAfterLoss) {
        const settled = await settleCreate(write, how.isEphemeral);
        if (settled !== undefined) return settled;
      } else throw failure;
    }
  }
  throw new ZooKeeperFailure(tooManyRounds);
}

export async function replaceVersion(write: Write, expected: number): Promise<Written> {
  try {
    if (write.isAfterLoss) await settleReplace(write, expected);
    return { path: write.path, version: await write.client.setData(write.path, write.value, expected) };
  } catch (failure) {
    if (isFailure(failure, 'NO_NODE')) throw write.isAfterLoss ? new ZooKeeperFailure(unknownOutcome) : new ZooKeeperFailure('BAD_VERSION', failure);
    // The late first attempt may be what changed it just now.
    if (isFailure(failure, 'BAD_VERSION') && write.isAfterLoss) await settleReplace(write, expected);
    throw failure;
  }
}

export async function replaceAny(write: Write): Promise<Written> {
  for (let round = 0; round < roundsMax; round++) {
    try {
      return { path: write.path, version: await write.client.setData(write.path, write.value, -1) };
    } catch (failure) {
      if (!isFailure(failure, 'NO_NODE')) throw failure;
    }
    try {
      return await createNode({ ...write, isAfterLoss: false }, { isEphemeral: false, isSequential: false });
    } catch (failure) {
      if (!isFailure(failure, 'NODE_EXISTS')) throw failure;
    }
  }
  throw new ZooKeeperFailure(tooManyRounds);
}

export async function deleteNode(write: Pick<Write, 'client' | 'path' | 'isAfterLoss'>, expected: number | 'any'): Promise<void> {
  try {
    await write.client.remove(write.path, expected === 'any' ? -1 : expected);
  } catch (failure) {
    if (!write.isAfterLoss || !isFailure(failure, 'NO_NODE')) throw failure;
    if (expected !== 'any') throw new ZooKeeperFailure(unknownOutcome);
  }
}

/** Undefined: not there, so it did not happen yet. */
async function settleCreate(write: Write, isEphemeral: boolean): Promise<Written | undefined> {
  const found = await readNode(write);
  if (found === undefined) return undefined;
  const isSame = found.version === 0 && found.value.equals(write.value);
  if (isSame && isEphemeral && found.owner.equals(write.client.sessionId)) return { path: write.path, version: 0 };
  if (isSame || found.version > 0) throw new ZooKeeperFailure(unknownOutcome);
  throw new ZooKeeperFailure('NODE_EXISTS');
}

/** Returns when the value is as expected still: nothing happened yet. */
async function settleReplace(write: Write, expected: number): Promise<void> {
  const found = await readNode(write);
  if (found?.version === expected) return;
  const isOthers = found !== undefined && (found.version < expected || (found.version === expected + 1 && !found.value.equals(write.value)));
  if (isOthers) throw new ZooKeeperFailure('BAD_VERSION');
  throw new ZooKeeperFailure(unknownOutcome);
}

async function readNode(write: Write): Promise<NodeData | undefined> {
  try {
    return await write.client.getData(write.path);
  } catch (failure) {
    if (isFailure(failure, 'NO_NODE')) return undefined;
    throw failure;
  }
}

/** All at once: ZooKeeper handles what one session sends in order. */
async function makeParents(write: Write): Promise<void> {
  const parents: string[] = [];
  for (let path = parentOf(write.path); path !== '/'; path = parentOf(path)) parents.push(path);
  const made = await Promise.allSettled(parents.reverse().map((path) => write.client.create(path, Buffer.alloc(0), 'persistent')));
  // A parent that went again in between (NO_NODE) is made by the next round.
  for (const each of made) {
    if (each.status === 'rejected' && !isFailure(each.reason, 'NODE_EXISTS') && !isFailure(each.reason, 'NO_NODE')) throw each.reason;
  }
}

function isFailure(error: unknown, reason: string): error is ZooKeeperFailure {
  return error instanceof ZooKeeperFailure && error.reason === reason;
}
