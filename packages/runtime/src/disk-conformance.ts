import { deepEqual, equal, rejects } from 'node:assert/strict';
import type { Disk, DiskFile } from './disk.js';

/** One promise of the `Disk` contract. `folder` is empty and the case's own. */
export interface DiskCase {
  name: string;
  run(disk: Disk, folder: string): Promise<void>;
}

/** What every disk must do; crashes are the business of each disk's own tests. */
export const diskCases: readonly DiskCase[] = [
  {
    name: 'open, read mode, no such file → NOT_FOUND',
    run: (disk, folder) => rejects(disk.open(`${folder}/none`, { mode: 'read' }), { code: 'DISK_NOT_FOUND' }),
  },
  {
    name: 'open, folder missing → NOT_FOUND',
    run: (disk, folder) => rejects(disk.open(`${folder}/none/file`), { code: 'DISK_NOT_FOUND' }),
  },
  {
    name: 'open, create mode twice → EXISTS',
    run: async (disk, folder) => {
      await (await disk.open(`${folder}/a`, { mode: 'create' })).close();
      await rejects(disk.open(`${folder}/a`, { mode: 'create' }), { code: 'DISK_EXISTS' });
    },
  },
  {
    name: 'open, a directory → IO',
    run: (disk, folder) => rejects(disk.open(folder), { code: 'DISK_IO' }),
  },
  {
    name: 'file, written at positions → reads them back, zeros between',
    run: async (disk, folder) => {
      const file = await disk.open(`${folder}/a`);
      equal(file.path, `${folder}/a`);
      await file.writeAt(0, Buffer.from('begin'));
      await file.writeAt(40_000, Buffer.from('end'));
      await file.writeAt(2, Buffer.from('G'));
      equal(await file.bytes(), 40_003);
      equal(await disk.fileBytes(`${folder}/a`), 40_003);
      equal((await readAll(file, 6)).toString(), 'beGin\0');
      equal((await readAll(file, 100, 39_999)).toString(), '\0end');
      await file.close();
    },
  },
  {
    name: 'file, read at and past its end → short and 0',
    run: async (disk, folder) => {
      const file = await disk.open(`${folder}/a`);
      await file.writeAt(0, Buffer.from('12345'));
      equal(await file.readAt(3, Buffer.alloc(10)), 2);
      equal(await file.readAt(5, Buffer.alloc(10)), 0);
      equal(await file.readAt(500, Buffer.alloc(10)), 0);
      equal(await file.readAt(0, Buffer.alloc(0)), 0);
      await file.close();
    },
  },
  {
    name: 'file, empty write → no bytes, no growth',
    run: async (disk, folder) => {
      const file = await disk.open(`${folder}/a`);
      await file.writeAt(10, Buffer.alloc(0));
      equal(await file.bytes(), 0);
      await file.close();
    },
  },
  {
    name: 'file, syncEachWrite → same bytes, seen by another handle',
    run: async (disk, folder) => {
      const file = await disk.open(`${folder}/a`, { syncEachWrite: true });
      const big = Buffer.alloc(300_000, 'daybook');
      await file.writeAt(0, big);
      const other = await disk.open(`${folder}/a`, { mode: 'read' });
      deepEqual(await readAll(other, 300_001), big);
      await other.close();
      await file.close();
    },
  },
  {
    name: 'file, opened for reading → writing it is IO',
    run: async (disk, folder) => {
      await (await disk.open(`${folder}/a`)).close();
      const file = await disk.open(`${folder}/a`, { mode: 'read' });
      await rejects(file.writeAt(0, Buffer.from('x')), { code: 'DISK_IO' });
      await file.close();
    },
  },
  {
    name: 'file, opened again in write mode → content kept',
    run: async (disk, folder) => {
      const file = await disk.open(`${folder}/a`);
      await file.writeAt(0, Buffer.from('kept'));
      await file.sync();
      await file.close();
      const again = await disk.open(`${folder}/a`);
      equal((await readAll(again, 10)).toString(), 'kept');
      await again.close();
    },
  },
  {
    name: 'file, truncated → shorter; grown again → zeros',
    run: async (disk, folder) => {
      const file = await disk.open(`${folder}/a`);
      await file.writeAt(0, Buffer.from('abcdef'));
      await file.truncate(2);
      equal(await file.bytes(), 2);
      await file.truncate(5);
      equal((await readAll(file, 10)).toString(), 'ab\0\0\0');
      await file.close();
    },
  },
  {
    name: 'file, two writes at a time → broken invariant',
    run: async (disk, folder) => {
      const file = await disk.open(`${folder}/a`);
      const first = file.writeAt(0, Buffer.from('1'));
      await rejects(async () => file.writeAt(1, Buffer.from('2')), { name: 'BrokenInvariant' });
      await first;
      await file.close();
    },
  },
  {
    name: 'file, used after close → IO; closed again → fine',
    run: async (disk, folder) => {
      const file = await disk.open(`${folder}/a`);
      await file.close();
      await file.close();
      await rejects(file.bytes(), { code: 'DISK_IO' });
      await rejects(file.readAt(0, Buffer.alloc(1)), { code: 'DISK_IO' });
    },
  },
  {
    name: 'rename → replaces the target, an open handle follows',
    run: async (disk, folder) => {
      const file = await disk.open(`${folder}/a`);
      await file.writeAt(0, Buffer.from('new'));
      await (await disk.open(`${folder}/b`)).close();
      await disk.rename(`${folder}/a`, `${folder}/b`);
      await disk.syncDirectory(folder);
      await file.writeAt(3, Buffer.from('er'));
      deepEqual(await disk.list(folder), ['b']);
      const renamed = await disk.open(`${folder}/b`, { mode: 'read' });
      equal((await readAll(renamed, 10)).toString(), 'newer');
      await renamed.close();
      await file.close();
    },
  },
  {
    name: 'rename, no such file or no such target folder → NOT_FOUND',
    run: async (disk, folder) => {
      await rejects(disk.rename(`${folder}/a`, `${folder}/b`), { code: 'DISK_NOT_FOUND' });
      await (await disk.open(`${folder}/a`)).close();
      await rejects(disk.rename(`${folder}/a`, `${folder}/none/b`), { code: 'DISK_NOT_FOUND' });
    },
  },
  {
    name: 'remove → gone, its open handle still reads; a missing one → fine',
    run: async (disk, folder) => {
      const file = await disk.open(`${folder}/a`);
      await file.writeAt(0, Buffer.from('x'));
      await disk.remove(`${folder}/a`);
      await disk.remove(`${folder}/a`);
      await disk.remove(`${folder}/none/a`);
      equal(await disk.fileBytes(`${folder}/a`), undefined);
      equal((await readAll(file, 1)).toString(), 'x');
      await file.close();
    },
  },
  {
    name: 'remove, a directory → IO',
    run: async (disk, folder) => {
      await disk.makeDirectory(`${folder}/d`);
      await rejects(disk.remove(`${folder}/d`), { code: 'DISK_IO' });
    },
  },
  {
    name: 'makeDirectory → with parents, again is fine; over a file → EXISTS',
    run: async (disk, folder) => {
      await disk.makeDirectory(`${folder}/x/y/z`);
      await disk.makeDirectory(`${folder}/x/y/z`);
      await disk.makeDirectory(`${folder}/x/y/w`);
      deepEqual(await disk.list(`${folder}/x/y`), ['w', 'z']);
      equal(await disk.fileBytes(`${folder}/x`), undefined);
      await (await disk.open(`${folder}/x/file`)).close();
      await rejects(disk.makeDirectory(`${folder}/x/file`), { code: 'DISK_EXISTS' });
    },
  },
  {
    name: 'list → sorted names; no such directory → empty',
    run: async (disk, folder) => {
      for (const name of ['b', 'a10', 'a9', 'B']) await (await disk.open(`${folder}/${name}`)).close();
      deepEqual(await disk.list(folder), ['B', 'a10', 'a9', 'b']);
      deepEqual(await disk.list(`${folder}/none`), []);
    },
  },
  {
    name: 'syncDirectory, no such directory → NOT_FOUND',
    run: (disk, folder) => rejects(disk.syncDirectory(`${folder}/none`), { code: 'DISK_NOT_FOUND' }),
  },
  {
    name: 'usage → free space within the total',
    run: async (disk, folder) => {
      const { totalBytes, freeBytes } = await disk.usage(folder);
      equal(totalBytes > 0 && freeBytes >= 0 && freeBytes <= totalBytes, true);
    },
  },
  {
    name: 'lock → exclusive, also within a process, until released; leaves no names in the folder',
    run: async (disk, folder) => {
      const held = await disk.lock(`${folder}/data`);
      await rejects(disk.lock(`${folder}/data`), { code: 'DISK_LOCKED' });
      const other = await disk.lock(`${folder}/other`);
      deepEqual(await disk.list(`${folder}/data`), []);
      await held.release();
      await held.release();
      await (await disk.lock(`${folder}/data`)).release();
      await other.release();
    },
  },
];

async function readAll(file: DiskFile, bytesMax: number, position = 0): Promise<Buffer> {
  const target = Buffer.alloc(bytesMax);
  return target.subarray(0, await file.readAt(position, target));
}
