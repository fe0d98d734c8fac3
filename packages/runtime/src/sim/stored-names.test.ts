import t from 'tap';
import { SimRandom } from './random.js';
import { StoredFile } from './stored-file.js';
import { StoredNames } from './stored-names.js';

/** Paths after a crash, each with the letter of its file. */
function after(names: StoredNames, keep: () => boolean, letters: Map<StoredFile, string>): string {
  const survivor = names.survivor(keep, (file) => file);
  return [...survivor.paths()]
    .map((path) => `${path}=${letters.get(survivor.file(path) as StoredFile)}`)
    .sort()
    .join(' ');
}

function world() {
  const names = new StoredNames();
  names.makeDirectory('/d1');
  names.makeDirectory('/d2');
  const [a, b] = [new StoredFile(), new StoredFile()];
  names.create('/d1/x', a);
  names.syncDirectory('/d1', names.changes());
  return {
    names,
    a,
    b,
    letters: new Map([
      [a, 'a'],
      [b, 'b'],
    ]),
  };
}

t.test('StoredNames: rename to another folder → durable once both are synced, whole or not at all before', async (t) => {
  const { names, letters } = world();
  names.rename('/d1/x', '/d2/y');
  t.equal(
    after(names, () => false, letters),
    '/d1/x=a',
  );
  t.equal(
    after(names, () => true, letters),
    '/d2/y=a',
  );
  names.syncDirectory('/d2', names.changes());
  t.equal(
    after(names, () => false, letters),
    '/d1/x=a',
  );
  names.syncDirectory('/d1', names.changes());
  t.equal(
    after(names, () => false, letters),
    '/d2/y=a',
  );
});

t.test('StoredNames: a name made durable that was free only after a rename → the rename is durable with it', async (t) => {
  const { names, b, letters } = world();
  names.rename('/d1/x', '/d2/y');
  names.create('/d1/x', b);
  names.syncDirectory('/d1', names.changes());
  t.equal(
    after(names, () => false, letters),
    '/d1/x=b /d2/y=a',
  );
});

t.test('StoredNames: renamed away and made anew, nothing synced → no crash loses the durable file', async (t) => {
  const { names, b, letters } = world();
  names.rename('/d1/x', '/d1/y');
  names.create('/d1/x', b);
  const random = new SimRandom(1);
  const outcomes = new Set(Array.from({ length: 100 }, () => after(names, () => random.chance(0.5), letters)));
  t.same([...outcomes].sort(), ['/d1/x=a', '/d1/x=b /d1/y=a', '/d1/y=a']);
});

t.test('StoredNames: a change made while a sync was under way → not covered by it', async (t) => {
  const { names, b, letters } = world();
  const begun = names.changes();
  names.create('/d1/z', b);
  names.syncDirectory('/d1', begun);
  t.equal(
    after(names, () => false, letters),
    '/d1/x=a',
  );
});
