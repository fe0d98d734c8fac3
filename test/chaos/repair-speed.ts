import { openRepairTools, recoverBookies } from '@daybook/ledger/repair';
import { RealClock, RealRandom } from '@daybook/runtime/real';
import { openView, withBookies, writeLedger } from './lose-bookie.js';
import { pause } from './processes.js';

/**
 * How fast copies are made when no rate is set: `node test/dist/chaos/repair-speed.js 100000` writes as many entries of 1 KiB to three of four bookies (processes of
 * their own, real disks) and moves one bookie's copies to the fourth.
 */
export async function measureRepair(count: number): Promise<{ entriesPerSecond: number; copied: number; ms: number }> {
  return await withBookies({ autoRecoveryDaemonEnabled: 'false' }, async ({ metadata }) => {
    const view = await openView(metadata);
    const ledgerId = await writeLedger(view.client, count, true);
    await pause(2_000);
    const source = (await view.records.read(ledgerId))?.metadata.segments[0]?.ensemble[0];
    const { records, registry, store, client: ledgers, pool: bookies } = view;
    const tools = await openRepairTools({
      clock: new RealClock(),
      random: new RealRandom(),
      store,
      records,
      registry,
      bookies,
      ledgers,
      name: 'measuring',
    });
    const began = performance.now();
    const { entriesCopied } = await recoverBookies(tools, { bookies: source === undefined ? [] : [source] });
    const ms = performance.now() - began;
    await tools.close();
    await view.close();
    return { entriesPerSecond: Math.round((entriesCopied * 1_000) / ms), copied: entriesCopied, ms: Math.round(ms) };
  });
}

if (process.argv[1]?.endsWith('repair-speed.js')) {
  const { copied, ms, entriesPerSecond } = await measureRepair(Number(process.argv[2] ?? 100_000));
  console.log(`${copied} entries of 1 KiB copied in ${ms} ms: ${entriesPerSecond} entries/s`);
}
