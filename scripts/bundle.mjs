// Joins what `daybook` loads at a start into few files (packages/cli/bundle): loading 670 modules one by one takes half of a start. Part of `npm run build`;
// packages/cli/bin/daybook.js uses the built modules themselves when a package was built after the bundle.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { root } from './steps.mjs';

const outdir = join(root, 'packages', 'cli', 'bundle');

// Names of files contain hashes: what is left of earlier ones would only pile up.
rmSync(outdir, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  // `daybook sim` starts the simulator as a program: no package depends on it.
  entryPoints: { index: 'packages/cli/dist/index.js', simulator: 'test/dist/sim/main.js' },
  outdir,
  bundle: true,
  // Commands still load only what they need.
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // Finds its prebuilt binary beside itself.
  external: ['bufferutil'],
  banner: { js: "import { createRequire as createRequireOfBundle } from 'node:module';\nconst require = createRequireOfBundle(import.meta.url);" },
  logLevel: 'warning',
});
