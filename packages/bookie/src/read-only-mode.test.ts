import t from 'tap';
import { ReadOnlyMode, type ReadOnlyModeOptions } from './read-only-mode.js';
import type { DirectoryStatus } from './storage/disk-monitor.js';

function make(more: Partial<ReadOnlyModeOptions> = {}) {
  const changes: boolean[] = [];
  const mode: ReadOnlyMode = new ReadOnlyMode({
    isAnyFullEnough: true,
    isForced: false,
    isManual: false,
    isLimbo: false,
    onChange: () => changes.push(mode.isReadOnly),
    ...more,
  });
  return { mode, changes };
}

function disk(path: string, level: DirectoryStatus['level'], more: Partial<DirectoryStatus> = {}): DirectoryStatus {
  const isJournal = path.startsWith('journal');
  return { path, isJournal, isLedgers: !isJournal, totalBytes: 1000, freeBytes: 500, level, reserveBytes: 0, reserveBytesAim: 20, ...more };
}

const batch = (isRecovery: boolean, bytes = 10) => ({ isRecovery, bytes: new Uint8Array(bytes) });

t.test('read-only: one of several ledger directories full → by the setting; a journal directory → always', async (t) => {
  for (const isAnyFullEnough of [true, false]) {
    const { mode } = make({ isAnyFullEnough });
    mode.noteDisks([disk('journal', 'ok'), disk('a', 'full'), disk('b', 'ok')]);
    t.equal(mode.isReadOnly, isAnyFullEnough);
    mode.noteDisks([disk('journal', 'ok'), disk('a', 'full'), disk('b', 'full')]);
    t.equal(mode.isReadOnly, true);
    mode.noteDisks([disk('journal', 'ok'), disk('a', 'full'), disk('b', 'failed')]);
    t.equal(mode.isReadOnly, true, 'the failed one does not count');
    mode.noteDisks([disk('journal', 'full'), disk('a', 'ok')]);
    t.strictSame(mode.reasons, [{ kind: 'disk full', directory: 'journal' }]);
    mode.noteDisks([disk('journal', 'ok'), disk('a', 'warn')]);
    t.equal(mode.isReadOnly, false);
  }
});

t.test('read-only: causes come and go → told when it changes, and only then', async (t) => {
  const { mode, changes } = make();
  mode.noteDisks([disk('journal', 'ok'), disk('a', 'ok')]);
  mode.setManual(true);
  mode.noteDisks([disk('journal', 'ok'), disk('a', 'full')]);
  t.strictSame(changes, [true]);
  mode.setManual(false);
  t.strictSame(changes, [true], 'the disk is still full');
  mode.noteDisks([disk('journal', 'ok'), disk('a', 'ok')]);
  t.strictSame(changes, [true, false]);
});

t.test('read-only: forced, or in limbo → nothing ends it', async (t) => {
  for (const cause of ['isForced', 'isLimbo'] as const) {
    const { mode } = make({ [cause]: true });
    mode.setManual(false);
    mode.noteDisks([disk('journal', 'ok'), disk('a', 'ok')]);
    t.equal(mode.isReadOnly, true);
    t.equal(mode.admits(batch(false)), false);
    t.equal(mode.admits(batch(true, 1e6)), true, 'disks have room for a recovery');
  }
});

t.test('append of a recovery on a full disk → as long as there is room, each one twice: journal and entry log', async (t) => {
  const { mode } = make();
  t.equal(mode.admits(batch(false)), true);
  mode.noteDisks([disk('journal', 'ok'), disk('a', 'full', { freeBytes: 60, reserveBytes: 20 })]);
  t.equal(mode.admits(batch(false)), false);
  t.equal(mode.admits(batch(true, 40)), false);
  t.strictSame([mode.admits(batch(true, 20)), mode.admits(batch(true, 10)), mode.admits(batch(true, 1))], [true, true, false]);
  t.equal(mode.takesRecovery, false);
  mode.noteDisks([disk('journal', 'ok'), disk('a', 'full', { freeBytes: 20, reserveBytes: 0 })]);
  t.strictSame([mode.admits(batch(true, 5)), mode.admits(batch(true, 1))], [true, false], 'half of what was kept back stays for fences');
});
