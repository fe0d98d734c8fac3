// npm start [-- options]: installs, builds and runs `daybook standalone`.
import { join } from 'node:path';
import { build, install, requireNode20, root, run } from './steps.mjs';

requireNode20();
for (const step of [install, build]) {
  const code = await step();
  if (code !== 0) process.exit(code);
}
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {}); // The child gets it too and ends in order.
process.exit(
  await run(process.execPath, [
    '--max-semi-space-size=8',
    join(root, 'packages', 'cli', 'bin', 'daybook.js'),
    'standalone',
    ...process.argv.slice(2),
  ]),
);
