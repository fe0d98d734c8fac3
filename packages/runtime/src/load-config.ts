import { readFileSync } from 'node:fs';
import type { ZodObject, z } from 'zod';
import { type ConfigKey, configKeys } from './config-keys.js';
import { type ConfigProblem, issueProblems, problemsText, unknownKeyText } from './config-problems.js';
import { defineErrors } from './errors.js';
import { withoutJsonComments } from './json-comments.js';

export const configErrors = defineErrors('CONFIG', {
  INVALID: { retry: 'never', text: (problems: string) => `the configuration is not valid:\n${problems}` },
  UNREADABLE: { retry: 'never', text: (file: string, detail: string) => `the configuration file ${file} cannot be read: ${detail}` },
});

export interface LoadConfigOptions<Schema extends ZodObject> {
  /** A `z.strictObject`; nested objects too. */
  schema: Schema;
  /** A JSON file; comments are allowed. */
  file?: string | undefined;
  /** Usually `process.env`. */
  environment?: Readonly<Record<string, string | undefined>>;
  environmentPrefix?: string;
  /** Variables with the prefix that are no settings, such as the one that names the file. */
  environmentIgnored?: readonly string[];
  /** By name of the setting (`journalBytesMax`, `tls.certificateFile`); `undefined` means not given. */
  flags?: Readonly<Record<string, unknown>>;
}

export type DeepReadonly<T> = T extends (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** File < environment < flags, checked as a whole and frozen. Throws CONFIG_INVALID with every problem in its text, or CONFIG_UNREADABLE. */
export function loadConfig<Schema extends ZodObject>(options: LoadConfigOptions<Schema>): DeepReadonly<z.output<Schema>> {
  const { schema, file, environment = {}, environmentPrefix = 'DAYBOOK_', environmentIgnored = [], flags = {} } = options;
  const keys = configKeys(schema, environmentPrefix);
  const given = new GivenValues(keys);
  if (file !== undefined) given.addFile(file, readJson(file));
  given.addEnvironment(environment, environmentPrefix, new Set(environmentIgnored));
  given.addFlags(flags);
  const parsed = schema.safeParse(given.values);
  const problems = [...given.problems];
  if (!parsed.success) problems.push(...issueProblems(parsed.error.issues, keys, given));
  if (problems.length > 0) throw configErrors.INVALID(problemsText(problems));
  return deepFrozen(parsed.data) as DeepReadonly<z.output<Schema>>;
}

/** What was given, merged, with the place each value came from. */
class GivenValues {
  values: Record<string, unknown> = {};
  readonly problems: ConfigProblem[] = [];
  readonly #sources = new Map<string, string>();
  readonly #keys: readonly ConfigKey[];
  #file: string | undefined;

  constructor(keys: readonly ConfigKey[]) {
    this.#keys = keys;
  }

  addFile(file: string, content: Record<string, unknown>): void {
    this.#file = file;
    this.values = { ...content };
  }

  addEnvironment(environment: Readonly<Record<string, string | undefined>>, prefix: string, ignored: ReadonlySet<string>): void {
    const byName = new Map(this.#keys.map((key) => [key.environmentName, key]));
    for (const [name, text] of Object.entries(environment)) {
      if (!name.startsWith(prefix) || text === undefined || ignored.has(name) || isServiceLink(name, text)) continue;
      const key = byName.get(name);
      if (key !== undefined) this.#set(key, text, `environment ${name}`);
      else this.problems.push({ key: name, value: undefined, source: 'environment', text: unknownKeyText(name, [...byName.keys()]) });
    }
  }

  addFlags(flags: Readonly<Record<string, unknown>>): void {
    const names = this.#keys.map((key) => key.name);
    for (const [name, value] of Object.entries(flags)) {
      if (value === undefined) continue;
      const key = this.#keys.find((candidate) => candidate.name === name);
      if (key !== undefined) this.#set(key, value, `flag --${name}`);
      else this.problems.push({ key: name, value: undefined, source: 'flag', text: unknownKeyText(name, names) });
    }
  }

  valueAt(path: readonly PropertyKey[]): unknown {
    let value: unknown = this.values;
    for (const part of path) value = typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined;
    return value;
  }

  sourceOf(name: string): string | undefined {
    return this.#sources.get(name) ?? (this.#file === undefined ? undefined : `file ${this.#file}`);
  }

  #set(key: ConfigKey, given: unknown, source: string): void {
    let place = this.values;
    for (const part of key.path.slice(0, -1)) {
      const inner = place[part];
      const next = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? { ...inner } : {};
      place[part] = next;
      place = next as Record<string, unknown>;
    }
    place[key.path.at(-1) as string] = typeof given === 'string' ? parsedText(key, given) : given;
    this.#sources.set(key.name, source);
  }
}

/** A text that cannot be parsed stays a text: the schema then says what is allowed. */
function parsedText(key: ConfigKey, text: string): unknown {
  switch (key.parse) {
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'list':
      return text === '' ? [] : text.split(',').map((item) => item.trim());
    case 'json':
      return parsedJson(text);
    case 'text':
      return text;
  }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Kubernetes puts the address of each service into the environment: one called `daybook` would look like settings of ours. */
function isServiceLink(name: string, text: string): boolean {
  return (
    /_SERVICE_(HOST|PORT(_\w+)?)$/.test(name) || /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name) || /^(tcp|udp|sctp):\/\//.test(text)
  );
}

function readJson(file: string): Record<string, unknown> {
  let content: unknown;
  try {
    content = JSON.parse(withoutJsonComments(readFileSync(file, 'utf8')));
  } catch (error) {
    throw configErrors.UNREADABLE(file, (error as Error).message, { cause: error });
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) throw configErrors.UNREADABLE(file, 'it is no JSON object');
  return content as Record<string, unknown>;
}

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFrozen(inner);
  }
  return value;
}
