#!/usr/bin/env -S node --max-semi-space-size=8
// The option: else Node lets the space for new objects grow to twice 16 MiB, half of what 1,000 topics then cost. Publishing is as fast with 8 (docs/benchmarks.md).
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../dist/index.js', import.meta.url);
if (!existsSync(fileURLToPath(built))) {
  process.stderr.write('daybook: it is not built yet: run `npm install && npm run build` in the repository first\n');
  process.exit(1);
}
const { main } = await import(built.href);
await main(process.argv);
