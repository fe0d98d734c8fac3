import { readFileSync } from 'node:fs';

/** The version of the package that was built. */
export function version(): string {
  const { version: text } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return text;
}
