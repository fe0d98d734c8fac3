import t from 'tap';
import { keyValueStory } from './kv-store.js';

t.test(
  'key-value store: primary killed with kill -9 while it writes → the standby, another process, has everything acknowledged and goes on',
  async (t) => {
    const lines: string[] = [];
    const outcome = await keyValueStory(undefined, (line) => lines.push(line));
    t.same(outcome.missing, []);
    t.ok(outcome.acknowledged > 20, `${outcome.acknowledged} keys, some of them written while it was killed`);
    t.match(lines.at(-1), 'b goes on: key-0 is "changed by b"');
  },
);
