import t from 'tap';
import { DaybookProcess, temporaryFolder, until } from '../chaos/processes.js';
import { brokerConformance } from './broker-conformance.js';

t.setTimeout(110_000);

t.test('standalone', { timeout: 60_000 }, async (t) => {
  const folder = temporaryFolder();
  const standalone = new DaybookProcess(['standalone', '--port', '0', '--data', folder.path]);
  t.teardown(async () => {
    await standalone.stop();
    folder.remove();
  });
  const ready = (): string | undefined => /is ready: http:\/\/(\S+)/.exec(standalone.output)?.[1];
  await until('standalone is ready', 20_000, () => ready() !== undefined);
  const address = ready() as string;
  await brokerConformance(t, { run: 'standalone', first: address, second: address });
});
