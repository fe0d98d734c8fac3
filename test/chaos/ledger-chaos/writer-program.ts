import { appendFileSync } from 'node:fs';
import type { LedgerWriter } from '@daybook/ledger';
import { errorCode } from '@daybook/runtime';
import { contentOf } from '../contents.js';
import { pause } from '../processes.js';
import { openViewPatiently } from './patience.js';
import { below, chaosPassword, seededRandom } from './shared.js';

/**
 * Writes ledgers one after another, two at a time, and notes in a file what was acknowledged to it, right when it was:
 * `node writer-program.js METADATA FILE SEED BOOKIES`. Lines: `a LEDGER ENTRY` acknowledged up to there; `e LEDGER ENTRY` closed there; `f LEDGER CODE` failed.
 */
const [metadata = '', file = '', seed = '1', bookies = '3'] = process.argv.slice(2);
const random = seededRandom(Number(seed));
const note = (line: string): void => appendFileSync(file, `${line}\n`);
const unansweredMax = 100;

const view = await openViewPatiently(metadata);

async function create(): Promise<LedgerWriter | undefined> {
  const isStriped = Number(bookies) > 3 && below(random, 3) === 0;
  try {
    return await view.client.create({
      ensembleSize: isStriped ? 4 : 3,
      writeQuorumSize: 3,
      ackQuorumSize: 2,
      password: chaosPassword,
      shrinkToAvailable: false,
    });
  } catch (error) {
    note(`n ${errorCode(error)}`);
    await pause(200);
    return undefined;
  }
}

async function writeOne(): Promise<void> {
  const writer = await create();
  if (writer === undefined) return;
  const { ledgerId } = writer;
  let failure: Error | undefined;
  writer.listen({
    confirmed: (lastAddConfirmed) => note(`a ${ledgerId} ${lastAddConfirmed}`),
    failed: (error) => {
      failure = error;
      note(`f ${ledgerId} ${errorCode(error)}`);
    },
  });
  const count = 50 + below(random, 3_000);
  while (failure === undefined && writer.lastAddPushed + 1 < count) {
    for (let i = 0; i < 10 && !writer.isFull && writer.lastAddPushed - writer.lastAddConfirmed < unansweredMax; i++)
      writer.push(contentOf(ledgerId, writer.lastAddPushed + 1));
    await pause(50);
  }
  while (failure === undefined && writer.lastAddConfirmed < writer.lastAddPushed) await pause(20);
  // Some are just left, as by a process that died.
  if (failure !== undefined || below(random, 4) === 0) return;
  try {
    await writer.close();
    note(`e ${ledgerId} ${writer.lastAddConfirmed}`);
  } catch (error) {
    note(`f ${ledgerId} ${errorCode(error)}`);
  }
}

async function writeOn(): Promise<never> {
  for (;;) await writeOne();
}

await Promise.all([writeOn(), writeOn()]);
