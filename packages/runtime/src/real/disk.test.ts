import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import t, { type Test } from 'tap';
import { diskCases } from '../disk-conformance.js';
import { RealDisk } from './disk.js';
import { diskFailure } from './disk-failure.js';

for (const { name, run } of diskCases) {
  t.test(`RealDisk: ${name}`, async (t) => {
    await run(new RealDisk(), t.testdir());
  });
}

t.test('diskFailure: errno → code, the system text kept', async (t) => {
  const table: [string, string][] = [
    ['ENOENT', 'DISK_NOT_FOUND'],
    ['EEXIST', 'DISK_EXISTS'],
    ['ENOSPC', 'DISK_FULL'],
    ['EDQUOT', 'DISK_FULL'],
    ['EIO', 'DISK_IO'],
    ['EACCES', 'DISK_IO'],
  ];
  for (const [errno, code] of table) {
    const error = diskFailure('/f', Object.assign(new Error(`${errno}: from the system`), { code: errno }));
    t.equal(error.code, code);
    t.ok((error.cause as Error).message.includes(errno));
  }
});

t.test('RealDisk: /dev/full → FULL', { skip: process.platform !== 'linux' }, async (t) => {
  const file = await new RealDisk().open('/dev/full');
  await t.rejects(file.writeAt(0, Buffer.from('x')), { code: 'DISK_FULL' });
  await file.close();
});

t.test('RealDisk: closed with a write under way → the write ends first', async (t) => {
  const disk = new RealDisk();
  const path = `${t.testdir()}/a`;
  const file = await disk.open(path);
  const write = file.writeAt(0, Buffer.alloc(1_000_000, 1));
  await file.close();
  await write;
  t.equal(await disk.fileBytes(path), 1_000_000);
});

const lockerScript = `
import { RealDisk } from ${JSON.stringify(new URL('./index.js', import.meta.url).href)};
try {
  await new RealDisk().lock(process.argv[1]);
  console.log('locked');
  setInterval(() => {}, 1000);
} catch (error) { console.log(error.code); }
`;

function locker(t: Test, folder: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', lockerScript, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const answer = once(child.stdout, 'data').then(([data]) => String(data).trim());
  return { child, answer };
}

t.test('RealDisk.lock: held by another process, even a stopped one → LOCKED; that one killed -9 → free', async (t) => {
  // Deeper than the 107 bytes a socket's path may have.
  const folder = `${t.testdir()}/${'deep'.repeat(30)}`;
  const disk = new RealDisk();
  const { child, answer } = locker(t, folder);
  t.equal(await answer, 'locked');
  await t.rejects(disk.lock(folder), { code: 'DISK_LOCKED' });
  child.kill('SIGSTOP');
  await t.rejects(disk.lock(folder), { code: 'DISK_LOCKED' });
  child.kill('SIGKILL');
  await once(child, 'exit');
  t.equal(readdirSync(folder).length, 1, 'the dead process left its socket');
  const held = await disk.lock(folder);
  t.equal(readdirSync(folder).length, 1, 'which was swept away');
  await held.release();
  t.same(readdirSync(folder), []);
});

t.test('RealDisk.lock: several processes at once → at most one holds it', async (t) => {
  const folder = t.testdir();
  mkdirSync(folder, { recursive: true });
  const lockers = [1, 2, 3, 4].map(() => locker(t, folder));
  const answers = await Promise.all(lockers.map(({ answer }) => answer));
  t.equal(answers.filter((answer) => answer === 'locked').length, 1);
  t.equal(answers.filter((answer) => answer === 'DISK_LOCKED').length, 3);
});
