#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../dist/index.js', import.meta.url);
if (!existsSync(fileURLToPath(built))) {
  process.stderr.write('daybook: it is not built yet: run `npm install && npm run build` in the repository first\n');
  process.exit(1);
}
const { main } = await import(built.href);
await main(process.argv);
