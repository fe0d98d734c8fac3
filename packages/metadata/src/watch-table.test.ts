import t from 'tap';
import { WatchTable } from './watch-table.js';

t.test('watch table: several changes before the delivery -> one call, later than the change', async (tt) => {
  const tasks: (() => void)[] = [];
  const table = new WatchTable((task) => tasks.push(task));
  let calls = 0;
  table.add('/a', () => calls++);
  table.notify('/a');
  table.notify('/a');
  tt.equal(calls, 0);
  for (const task of tasks.splice(0)) task();
  tt.equal(calls, 1);
  table.notify('/b');
  tt.equal(tasks.length, 0);
});

t.test('watch table: stopped between change and delivery, or by another listener -> not called', async (tt) => {
  const tasks: (() => void)[] = [];
  const table = new WatchTable((task) => tasks.push(task));
  const called: string[] = [];
  table.add('/a', () => {
    called.push('first');
    second.stop();
  });
  const second = table.add('/a', () => called.push('second'));
  const third = table.add('/a', () => called.push('third'));
  table.notifyAll();
  third.stop();
  for (const task of tasks.splice(0)) task();
  tt.strictSame(called, ['first']);
  tt.strictSame([...table.paths()], ['/a']);
});

t.test('watch table: created and deleted -> the parent hears too; changed -> it does not', async (tt) => {
  const table = new WatchTable((task) => task());
  const called: string[] = [];
  table.add('/p', () => called.push('parent'));
  table.add('/p/a', () => called.push('value'));
  const node = { value: Buffer.alloc(0), version: 0, owner: 0, nextSequence: 0, children: new Set<string>() };
  table.changed([{ kind: 'put', path: '/p/a', node, before: undefined }]);
  tt.strictSame(called.splice(0), ['value', 'parent']);
  table.changed([{ kind: 'put', path: '/p/a', node, before: { value: node.value, version: 0 } }]);
  tt.strictSame(called.splice(0), ['value']);
  table.changed([{ kind: 'delete', path: '/p/a', node }]);
  tt.strictSame(called.splice(0), ['value', 'parent']);
  table.changed([{ kind: 'sequence', path: '/p', next: 1 }]);
  tt.strictSame(called, []);
});
