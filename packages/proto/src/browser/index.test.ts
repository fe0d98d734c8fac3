import { readFileSync } from 'node:fs';
import t from 'tap';

/** All modules of this package that `url` imports, itself included, and what they import from elsewhere. */
function importsOf(url: URL, seen: Set<string>, outside: Set<string>): void {
  if (seen.has(url.href)) return;
  seen.add(url.href);
  for (const [, specifier] of readFileSync(url, 'utf8').matchAll(/from '([^']+)'/g)) {
    if (specifier?.startsWith('.')) importsOf(new URL(specifier, url), seen, outside);
    else outside.add(specifier as string);
  }
}

t.test('browser part: everything it imports -> nothing of Node', async (t) => {
  const seen = new Set<string>();
  const outside = new Set<string>();
  importsOf(new URL('./index.js', import.meta.url), seen, outside);
  t.ok(seen.size > 5);
  // Only defineErrors of it, which bundlers find without loading the rest: the package has no side effects.
  t.same([...outside], ['@daybook/runtime']);
});
