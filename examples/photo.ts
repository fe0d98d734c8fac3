/**
 * The blob store: put a photo, look at its labels, fetch a part of it without the rest, check all of it, list, delete.
 *
 *     npm run example photo                       (a picture that it paints itself)
 *     npm run example photo -- my-photo.jpg
 *     npm run example photo -- --metadata zk://127.0.0.1:2181/daybook
 */
import { createReadStream } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { type BlobStore, createBlobStore } from '@daybook/ledger/blob';
import { clock, metadataOption, openSampleCluster, random } from './sample-cluster.js';

const width = 640;
const height = 480;
const headerBytes = Buffer.byteLength(`P6\n${width} ${height}\n255\n`);

/** A picture in the PPM format, line by line: a header of text, then three bytes per point. */
export async function* paint(): AsyncGenerator<Buffer> {
  yield Buffer.from(`P6\n${width} ${height}\n255\n`);
  for (let y = 0; y < height; y++) {
    yield Buffer.from(Array.from({ length: width }, (_, x) => [(x * 255) / width, (y * 255) / height, ((x ^ y) & 31) * 8]).flat());
  }
}

export async function photoSample(blobs: BlobStore, print: (line: string) => void, source: AsyncIterable<Uint8Array> = paint()): Promise<void> {
  // Striped over three bookies, two copies of each chunk; nobody sees it before all of it is there.
  const name = 'photos/2024/sunset.ppm';
  const photo = await blobs.put(name, source, { contentType: 'image/x-portable-pixmap', metadata: { place: 'Lisbon' } });
  print(`put ${photo.name}: ${photo.bytes} bytes, CRC-32C ${photo.crc32c.toString(16)}`);

  const { contentType, metadata } = await blobs.stat(name);
  print(`it is ${contentType}, taken in ${metadata?.place}`);

  // A thumbnail's worth: the header, and one line from the middle. Only the chunks with these bytes are read.
  print(`header: ${JSON.stringify((await read(blobs, name, 0, headerBytes)).toString('latin1').split('\n').slice(0, 3).join(' '))}`);
  const line = await read(blobs, name, headerBytes + Math.floor(height / 2) * width * 3, width * 3);
  print(`line ${height / 2} from the middle: ${line.length} bytes, begins with ${[...line.subarray(0, 6)].join(' ')}`);

  await blobs.verify(name);
  print('all of it was read and is what was put');

  const { blobs: found } = await blobs.list({ prefix: 'photos/2024/' });
  print(`photos of 2024: ${found.map((blob) => blob.name).join(', ')}`);
  await blobs.delete(name);
}

async function read(blobs: BlobStore, name: string, offset: number, length: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of (await blobs.get(name, { offset, length })).content) pieces.push(piece);
  return Buffer.concat(pieces);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const file = process.argv.slice(2).find((text, i, all) => !text.startsWith('-') && all[i - 1] !== '--metadata' && !text.startsWith('zk://'));
  await using cluster = await openSampleCluster(metadataOption());
  await using node = await cluster.connect();
  const blobs = createBlobStore({ store: node.store, ledgers: node.ledgers, clock, random });
  await photoSample(blobs, (line) => process.stdout.write(`${line}\n`), file === undefined ? paint() : createReadStream(file));
}
