import t from 'tap';
import { ledgerSample } from './ledger-sample.js';
import { openSampleCluster } from './sample-cluster.js';

t.test('ledger sample: on three bookies in this process → prints what was appended', async (t) => {
  await using cluster = await openSampleCluster(undefined);
  const lines: string[] = [];
  await ledgerSample(cluster.client, (line) => lines.push(line));
  t.match(lines[0], /^ledger \d+ has entries 0 to 9, 75 bytes$/);
  t.equal(lines[1], '0: Hello World!');
  t.equal(lines[10], '9: entry 9');
  t.equal(lines.length, 11);
});
