#!/usr/bin/env -S node --max-semi-space-size=8
// The option: else Node lets the space for new objects grow to twice 16 MiB, half of what 1,000 topics then cost. Publishing is as fast with 8 (docs/benchmarks.md).
import { existsSync, readdirSync, statSync } from 'node:fs';

const bundle = new URL('../bundle/index.js', import.meta.url);
const built = new URL('../dist/index.js', import.meta.url);
const packages = new URL('../../', import.meta.url);

/** False as well when a package was built after the bundle was made, by `tsc -b` alone. */
function isBundleCurrent() {
  if (!existsSync(bundle)) return false;
  const { mtimeMs } = statSync(bundle);
  return readdirSync(packages).every((name) => {
    const stamp = statSync(new URL(`${name}/dist/.tsbuildinfo`, packages), { throwIfNoEntry: false });
    return stamp === undefined || stamp.mtimeMs <= mtimeMs;
  });
}

const entry = isBundleCurrent() ? bundle : built;
if (!existsSync(entry)) {
  process.stderr.write('daybook: it is not built yet: run `npm install && npm run build` in the repository first\n');
  process.exit(1);
}
const { main } = await import(entry.href);
await main(process.argv);
