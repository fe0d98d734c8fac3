import type { BookieService, EntryId, LedgerId } from '@daybook/proto';
import type { World } from '../world.js';
import { writeSetOf } from './record-format.js';

const headerBytes = 32;
const digestBytes = 4;

/**
 * I4 and I16: each entry of a closed ledger is on at least Qa members of its write set (or on all of them), with its own ids in its header. Asks the
 * bookies themselves.
 */
export async function checkCopies(world: World, needed: 'ack quorum' | 'write quorum' = 'ack quorum'): Promise<void> {
  for (const bookie of world.bookies) await world.inspect(bookie);
  for (const { ledgerId, record, payloads } of world.ledgers.byId.values()) {
    if (record?.state !== 'CLOSED') continue;
    const neededCount = needed === 'ack quorum' ? record.ackQuorumSize : record.writeQuorumSize;
    const found = new Map<string, Map<number, Buffer>>();
    for (const { name, bookie } of world.bookies) {
      if (bookie !== undefined) found.set(name, await entriesOf(bookie.service, ledgerId));
    }
    for (let entryId = 0; entryId <= record.lastEntryId; entryId++) {
      const members = writeSetOf(record, entryId);
      const sound = members.filter((name) => {
        const entry = found.get(name)?.get(entryId);
        if (entry === undefined) return false;
        const isSound = isEntry(entry, ledgerId, entryId, payloads[entryId]);
        if (!isSound) world.history.violate('I16', `ledger ${ledgerId}: the copy of entry ${entryId} on ${name} is another entry`);
        return isSound;
      });
      // A copy that rotted away where bits flip was there all the same, but never the last one.
      const rotten = members.filter((name) => name === world.rotten && !sound.includes(name) && world.claims.holds(name, ledgerId, entryId));
      if (sound.length + rotten.length >= neededCount && sound.length > 0) continue;
      const text = `entry ${entryId} has ${sound.length} of ${neededCount} copies on ${members.join(',')}`;
      world.history.violate('I4', `ledger ${ledgerId}, closed at ${record.lastEntryId}: ${text}`);
    }
  }
}

function isEntry(entry: Buffer, ledgerId: number, entryId: number, payload: Buffer | undefined): boolean {
  if (Number(entry.readBigInt64BE(0)) !== ledgerId || Number(entry.readBigInt64BE(8)) !== entryId) return false;
  return payload === undefined || entry.subarray(headerBytes + digestBytes).equals(payload);
}

async function entriesOf(service: BookieService, ledgerId: number): Promise<Map<number, Buffer>> {
  const entries = new Map<number, Buffer>();
  const { runs } = await service.listEntries(ledgerId as LedgerId);
  for (const { first, last } of runs) {
    for (let next = first as number; next <= last; ) {
      const entryIds = Array.from({ length: last - next + 1 }, (_, i) => (next + i) as EntryId);
      const reply = await service.read({ ledgerId: ledgerId as LedgerId, entryIds, bytesMax: 64 * 1024 });
      if (reply.entries.length === 0) {
        next++;
        continue;
      }
      for (const entry of reply.entries) entries.set(next++, entry);
    }
  }
  return entries;
}
