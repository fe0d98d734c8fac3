import type { ZodError } from 'zod';
import type { ConfigKey } from './config-keys.js';

export interface ConfigProblem {
  key: string;
  /** Undefined: not given, or not to be shown. */
  value: unknown;
  source: string | undefined;
  text: string;
}

interface Given {
  valueAt(path: readonly PropertyKey[]): unknown;
  sourceOf(name: string): string | undefined;
}

/** One line per problem: `key = value (where it came from): what is wrong and what is allowed`. */
export function problemsText(problems: readonly ConfigProblem[]): string {
  return problems
    .map(({ key, value, source, text }) => {
      const shown = value === undefined ? '' : ` = ${JSON.stringify(value)}`;
      return `  ${key}${shown}${source === undefined ? '' : ` (${source})`}: ${text}`;
    })
    .join('\n');
}

export function issueProblems(issues: ZodError['issues'], keys: readonly ConfigKey[], given: Given): ConfigProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...issue.path, key], keys, given));
    return [wrongValue(issue, keys, given)];
  });
}

/** Says that a key is unknown, and which known one was probably meant. */
export function unknownKeyText(key: string, known: readonly string[]): string {
  const near = known
    .map((name) => ({ name, distance: editDistance(key.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(2, Math.floor(name.length / 4)))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ name }) => name);
  return near.length === 0 ? 'unknown setting' : `unknown setting; did you mean ${near.join(' or ')}?`;
}

function unknownKey(path: readonly PropertyKey[], keys: readonly ConfigKey[], given: Given): ConfigProblem {
  const name = path.map(String).join('.');
  const known = keys.map((key) => key.name);
  // Its value may be a secret under a misspelled name.
  return { key: name, value: undefined, source: given.sourceOf(name), text: unknownKeyText(name, known) };
}

function wrongValue(issue: ZodError['issues'][number], keys: readonly ConfigKey[], given: Given): ConfigProblem {
  const name = issue.path.map(String).join('.');
  const key = keys.find((candidate) => name === candidate.name || name.startsWith(`${candidate.name}.`));
  const value = given.valueAt(issue.path);
  const isMissing = value === undefined && issue.code !== 'custom';
  const allowed = key === undefined || issue.code === 'custom' ? issue.message : `must be ${key.allowed}`;
  return {
    key: name === '' ? 'the settings together' : name,
    value: key?.isSecret || key === undefined ? undefined : value,
    source: value === undefined ? undefined : given.sourceOf(key?.name ?? name),
    text: isMissing ? `is required and ${allowed}` : allowed,
  };
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
