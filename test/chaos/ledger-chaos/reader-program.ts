import { appendFileSync } from 'node:fs';
import { ledgerErrors } from '@daybook/ledger';
import type { EntryId, LedgerId } from '@daybook/proto';
import { errorCode } from '@daybook/runtime';
import { contentOf } from '../contents.js';
import { pause } from '../processes.js';
import { acknowledgedIn } from './logged.js';
import { openViewPatiently } from './patience.js';
import { below, chaosPassword, seededRandom } from './shared.js';

/**
 * Reads what writers noted as acknowledged, without disturbing them, and compares every byte: `node reader-program.js METADATA FOLDER FILE SEED`. Lines of its file:
 * `r LEDGER COUNT` read; `w CODE` could not be read right now; `x TEXT` something is wrong.
 */
const [metadata = '', folder = '', file = '', seed = '1'] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const note = (line: string): void => appendFileSync(file, `${line}\n`);

const view = await openViewPatiently(metadata);

async function readOne(): Promise<void> {
  const all = [...acknowledgedIn(folder)].filter(([, last]) => last >= 0);
  // Mostly those that are being written.
  const candidates = below(random, 2) === 0 ? all.slice(-8) : all;
  const picked = candidates[below(random, candidates.length)];
  if (picked === undefined) return;
  const [ledgerId, last] = picked;
  const first = below(random, last + 1);
  const end = Math.min(last, first + below(random, 300));
  try {
    const reader = await view.client.openWithoutRecovery(ledgerId as LedgerId, { password: chaosPassword });
    try {
      // What was acknowledged is there, whatever this reader has heard of the last-add-confirmed.
      let next = first;
      while (next <= end) {
        const entries = await reader.readUnconfirmed(next as EntryId, end as EntryId, 1 << 20);
        for (const { entryId, payload } of entries) {
          if (entryId !== next) note(`x ledger ${ledgerId}: entry ${entryId} came where ${next} was due`);
          if (!payload.equals(contentOf(ledgerId, entryId))) note(`x ledger ${ledgerId}: entry ${entryId} has other bytes`);
          next = entryId + 1;
        }
      }
      note(`r ${ledgerId} ${end - first + 1}`);
      if (below(random, 4) === 0) await tail(reader, last);
    } finally {
      await reader.close();
    }
  } catch (error) {
    const isGone = ledgerErrors.NO_SUCH_ENTRY.is(error) || ledgerErrors.NOT_FOUND.is(error);
    if (isGone) note(`x ledger ${ledgerId}: entries ${first} to ${end} of ${last} acknowledged ones: ${String(error)}`);
    else note(`w ${errorCode(error)} ${errorCode(error) === undefined ? String(error) : ''}`);
  }
}

/** Waits for the next entry as a consumer does. */
async function tail(reader: Awaited<ReturnType<typeof view.client.openWithoutRecovery>>, after: number): Promise<void> {
  const { entry } = await reader.readLastAddConfirmedAndEntry(after as EntryId, 1_000);
  if (entry === undefined) return;
  if (!entry.payload.equals(contentOf(reader.ledgerId, entry.entryId)))
    note(`x ledger ${reader.ledgerId}: entry ${entry.entryId}, tailed, has other bytes`);
  note(`t ${reader.ledgerId} ${entry.entryId}`);
}

for (;;) {
  await readOne();
  await pause(100);
}
