import fc from 'fast-check';
import t from 'tap';
import { MetadataTree, type TreeChange } from './metadata-tree.js';

const name = fc.constantFrom('a', 'b', 'c');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join('/')}`);
const step = fc.record({
  path,
  what: fc.constantFrom('absent', 'any', 'version', 'delete', 'ephemeral', 'sequential', 'end'),
  version: fc.nat({ max: 2 }),
  owner: fc.constantFrom(1, 2),
});

function contents(tree: MetadataTree): string {
  return JSON.stringify(
    [...tree.entries()].map(([at, { value, version, owner }]) => [at, value.toString(), version, owner, tree.children(at)]).sort(),
  );
}

t.test('metadata tree: any writes undone -> everything is as it was; a refused one changed nothing', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.array(step, { maxLength: 30 }), (before, after) => {
      const tree = new MetadataTree();
      perform(tree, before, []);
      const start = contents(tree);
      const changes: TreeChange[] = [];
      perform(tree, after, changes);
      tree.undo(changes);
      return contents(tree) === start;
    }),
    { numRuns: 500 },
  );
});

t.test('metadata tree: every value has its parents, and no ephemeral one has children', async () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const tree = new MetadataTree();
      perform(tree, steps, []);
      return [...tree.entries()].every(([at, node]) => {
        const parent = at.slice(0, Math.max(1, at.lastIndexOf('/')));
        return tree.get(parent) !== undefined && (node.owner === 0 || node.children === undefined);
      });
    }),
  );
});

function perform(tree: MetadataTree, steps: { path: string; what: string; version: number; owner: number }[], changes: TreeChange[]): void {
  for (const each of steps) {
    const start = contents(tree);
    const made: TreeChange[] = [];
    try {
      if (each.what === 'end') tree.deleteOwnedBy(each.owner, made);
      else if (each.what === 'delete') tree.delete(each.path, 'any', made);
      else {
        const expected = each.what === 'any' ? 'any' : each.what === 'version' ? each.version : 'absent';
        const options = { ephemeral: each.what === 'ephemeral', sequential: each.what === 'sequential', owner: each.owner };
        tree.put(each.path, Buffer.from(each.what), expected, options, made);
      }
    } catch {
      if (contents(tree) !== start || made.length > 0) throw new Error('a refused write changed something');
    }
    changes.push(...made);
  }
}
