import { createBlobStore } from '@daybook/ledger/blob';
import t from 'tap';
import { photoSample } from './photo.js';
import { clock, openSampleCluster, random } from './sample-cluster.js';

t.test('photo: put on three bookies, fetched by range → the bytes of that range, and nothing is left', async (t) => {
  await using cluster = await openSampleCluster(undefined);
  await using node = await cluster.connect();
  const blobs = createBlobStore({ store: node.store, ledgers: node.ledgers, clock, random });
  const lines: string[] = [];
  await photoSample(blobs, (line) => lines.push(line));
  t.match(lines[0], /^put photos\/2024\/sunset\.ppm: 921615 bytes, CRC-32C [0-9a-f]+$/);
  t.equal(lines[1], 'it is image/x-portable-pixmap, taken in Lisbon');
  t.equal(lines[2], 'header: "P6 640 480 255"');
  t.equal(lines[3], 'line 240 from the middle: 1920 bytes, begins with 0 127 128 0 127 136');
  t.equal(lines[4], 'all of it was read and is what was put');
  t.equal(lines[5], 'photos of 2024: photos/2024/sunset.ppm');
  t.same((await blobs.list()).blobs, []);
});
