// npm run example NAME [-- options]: installs, builds and runs one of the programs in examples/; without a name it lists them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, install, requireNode20, root, run } from './steps.mjs';

requireNode20();
const folder = join(root, 'examples');
const [name, ...options] = process.argv.slice(2);

/** Those that say in their first comment how they are run. */
const examples = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => ({ name: file.slice(0, -'.ts'.length), text: readFileSync(join(folder, file), 'utf8') }))
  .filter((example) => example.text.startsWith('/**') && example.text.includes(`npm run example ${example.name}`));

if (!examples.some((example) => example.name === name)) {
  if (name !== undefined) console.error(`There is no example "${name}".`);
  const print = name === undefined ? console.log : console.error;
  print('Usage: npm run example NAME [-- options]. The examples:');
  for (const example of examples) print(`  ${example.name.padEnd(14)} ${example.text.split('\n')[1].replace(/^ \* /, '')}`);
  process.exit(name === undefined ? 0 : 2);
}
for (const step of [install, build]) {
  const code = await step();
  if (code !== 0) process.exit(code);
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {}); // The child gets it too and ends in order.
process.exit(await run(process.execPath, [join(folder, 'dist', `${name}.js`), ...options]));
