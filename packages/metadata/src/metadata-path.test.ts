import t from 'tap';
import { checkPath, checkWritablePath, lastPart, parentOf, sequenceDigits } from './metadata-path.js';

t.test('metadata path: parts -> parent and last part', async (tt) => {
  for (const [path, parent, last] of [
    ['/a', '/', 'a'],
    ['/a/b', '/a', 'b'],
    ['/a/b/c d', '/a/b', 'c d'],
  ] as const) {
    tt.equal(parentOf(path), parent);
    tt.equal(lastPart(path), last);
  }
  tt.equal(sequenceDigits(42), '0000000042');
});

t.test('metadata path: the root -> read, never written', async (tt) => {
  checkPath('/');
  tt.throws(() => checkWritablePath('/'), { code: 'METADATA_BAD_PATH' });
});
