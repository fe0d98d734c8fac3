import t from 'tap';
import { compareMarks, covers } from './journal-mark.js';

const marks = (...offsets: number[]) => offsets.map((offset) => ({ fileId: 1, offset }));

t.test('marks of several journals: covered only when every journal is → no order between [2, 1] and [1, 2]', async (t) => {
  t.ok(covers(marks(2, 1), marks(2, 1)));
  t.ok(covers(marks(2, 2), marks(2, 1)));
  t.notOk(covers(marks(2, 1), marks(1, 2)));
  t.notOk(covers(marks(1, 2), marks(2, 1)));
  t.notOk(covers(marks(1), marks(1, 2)), 'another number of journals');
});

t.test('marks of one journal: file first, then offset → ordered', async (t) => {
  t.ok(compareMarks({ fileId: 1, offset: 900 }, { fileId: 2, offset: 512 }) < 0);
  t.ok(compareMarks({ fileId: 2, offset: 600 }, { fileId: 2, offset: 512 }) > 0);
});
