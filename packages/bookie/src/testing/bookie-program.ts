import type { EntryId, LedgerId } from '@daybook/proto';
import { silentLogger } from '@daybook/runtime';
import { RealClock, RealDisk, RealRandom } from '@daybook/runtime/real';
import { openBookie } from '../bookie.js';
import { bookieConfigSchema } from '../config.js';
import { makeBatch, testKey } from './batches.js';

/** What a test tells a bookie process to do. */
export type BookieCommand =
  | { kind: 'append'; ledger: number; first: number; count: number; bytes: number; isRecovery?: boolean }
  | { kind: 'read'; ledger: number; entryIds: number[] }
  | { kind: 'fence'; ledger: number }
  | { kind: 'status' }
  | { kind: 'flush' };

/** A bookie in a process of its own, on a real disk, that does what its parent says: for tests that kill it or fill its disk. */
const folder = process.argv[2] as string;
const mib = 1 << 20;

const bookie = await openBookie({
  config: bookieConfigSchema.parse({ journalDirectories: [`${folder}/journal`], ledgerDirectories: [`${folder}/ledgers`], diskReserveMB: 1 }),
  limits: {
    batchBytesMax: mib,
    journalFileBytesMax: 4 * mib,
    journalPrefillBytes: mib / 4,
    journalSparesMax: 1,
    writeCacheBytesMax: 16 * mib,
    logBytesMax: 4 * mib,
    flushIntervalMs: 200,
    diskCheckIntervalMs: 500,
  },
  clock: new RealClock(),
  random: new RealRandom(),
  disk: new RealDisk(),
  logger: silentLogger,
  dataDirectory: folder,
  onFatal: (error) => {
    process.send?.({ fatal: String(error) });
    process.exit(3);
  },
});

process.on('message', ({ id, command }: { id: number; command: BookieCommand }) => {
  answer(command).then(
    (reply) => process.send?.({ id, reply }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ready: bookie.status() });

async function answer(command: BookieCommand): Promise<unknown> {
  switch (command.kind) {
    case 'append':
      return new Promise((resolve) => bookie.service.append(makeBatch(command), resolve));
    case 'read': {
      const { ledger, entryIds } = command;
      const { code, entries } = await bookie.service.read({ ledgerId: ledger as LedgerId, entryIds: entryIds as EntryId[], bytesMax: 8 * mib });
      return { code, entries: entries.map((entry) => entry.toString('base64')) };
    }
    case 'fence':
      return (await bookie.service.fence({ ledgerId: command.ledger as LedgerId, masterKey: testKey })).code;
    case 'status':
      return bookie.status();
    case 'flush':
      return bookie.flush();
  }
}
