import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { root } from '../docs/generated-docs.js';

export interface SourceFile {
  /** From the root of the repository, with `/`. */
  path: string;
  text: string;
}

export interface Import {
  /** As written. */
  specifier: string;
  /** For a relative one: the source file it means, from the root. */
  path: string | undefined;
}

/** Files of the repository as they are now: those git tracks, and new ones it does not ignore. */
export function repositoryFiles(): string[] {
  const list = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  return [...new Set(list.split('\n'))].filter((path) => path !== '' && existsSync(join(root, path))).sort();
}

export function readSource(path: string): SourceFile {
  return { path, text: readFileSync(join(root, path), 'utf8') };
}

export function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}

/** Tests and what only they use: they may reach further than the code they test. */
export function isForTests(path: string): boolean {
  return isTest(path) || /(^|\/)(testing|bench)\//.test(path) || path.endsWith('/conformance.ts') || path.endsWith('-conformance.ts');
}

export function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^;'"]*?from\s+['"]([^'"]+)['"]|(?:^|\n)\s*import\s+['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

/** Static and dynamic imports and re-exports of a file. */
export function importsOf({ path, text }: SourceFile): Import[] {
  return [...text.matchAll(importPattern)].map((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? '';
    const isRelative = specifier.startsWith('.');
    return { specifier, path: isRelative ? normalize(join(dirname(path), specifier)).replace(/\.js$/, '.ts') : undefined };
  });
}
