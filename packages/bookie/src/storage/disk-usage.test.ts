import t from 'tap';
import { type DiskLevel, type DiskObservation, levelOf, reserveBytesFor, usedShare } from './disk-usage.js';

const thresholds = { warn: 0.9, full: 0.95, lowWater: 0.92 };

function level(percent: number, before: DiskLevel, more: Partial<DiskObservation> = {}): DiskLevel {
  return levelOf({ totalBytes: 1000, freeBytes: 1000 - percent * 10, before, hadNoRoom: false, missingReserveBytes: 0, ...more }, thresholds);
}

t.test('disk level: share in use, level before → each threshold counts from its value on', async (t) => {
  const cases: [percent: number, before: DiskLevel, level: DiskLevel][] = [
    [0, 'ok', 'ok'],
    [89.9, 'ok', 'ok'],
    [90, 'ok', 'warn'],
    [94.9, 'warn', 'warn'],
    [95, 'warn', 'full'],
    [100, 'ok', 'full'],
    [94, 'full', 'full'],
    [92, 'full', 'full'],
    [91.9, 'full', 'warn'],
    [50, 'full', 'ok'],
    [50, 'warn', 'ok'],
  ];
  for (const [percent, before, expected] of cases) t.equal(level(percent, before), expected, `${percent} % after ${before}`);
});

t.test('disk level: a write found no room → full, whatever the disk says, until the space kept back could be written again', async (t) => {
  t.equal(level(10, 'ok', { hadNoRoom: true }), 'full');
  t.equal(level(10, 'full', { missingReserveBytes: 1 }), 'full');
  t.equal(level(10, 'full'), 'ok');
  t.equal(level(10, 'ok', { missingReserveBytes: 1 }), 'ok', 'one that is not full yet needs no reserve to stay so');
});

t.test('space kept back: what is wished for, at most a fiftieth of the disk', async (t) => {
  t.equal(reserveBytesFor(1_000_000, 100), 100);
  t.equal(reserveBytesFor(1000, 100), 20);
  t.equal(usedShare({ totalBytes: 0, freeBytes: 0 }), 1, 'a disk without a size is full');
});
