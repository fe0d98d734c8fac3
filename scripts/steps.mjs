// What `npm start` and `npm test` share: install when the lock file changed, build.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Runs a command with its output shown; resolves to its exit code. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(signal ? 1 : (code ?? 1)));
  });
}

export function requireNode20() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 20) {
    console.error(`Daybook needs Node.js 20 or newer; this is ${process.version}. Install a newer one and run the command again.`);
    process.exit(2);
  }
}

/** `npm ci`, but only when package-lock.json is not the one installed last. */
export async function install() {
  const stamp = join(root, 'node_modules', '.daybook-lock');
  const hash = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return 0;
  console.log('Installing the packages named in package-lock.json ...');
  const code = await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
  if (code === 0) writeFileSync(stamp, hash);
  return code;
}

export async function build() {
  console.log('Building ...');
  const code = await run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-b']);
  return code === 0 ? await run(process.execPath, [join(root, 'scripts', 'bundle.mjs')]) : code;
}
