// npm run docs: writes the pages that are made from the built code: docs/errors.md and docs/configuration.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, root } from './steps.mjs';

if ((await build()) !== 0) process.exit(1);
const { generatedDocs } = await import('../test/dist/docs/generated-docs.js');
for (const [path, content] of await generatedDocs()) {
  const file = join(root, path);
  const isCurrent = existsSync(file) && readFileSync(file, 'utf8') === content;
  if (!isCurrent) writeFileSync(file, content);
  console.log(`${path} ${isCurrent ? 'is up to date' : 'written'}`);
}
