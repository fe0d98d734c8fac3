import type { ZodObject } from 'zod';
import { invariant } from './invariant.js';

/** The part of JSON Schema that settings use. */
interface ValueSchema {
  type?: string | string[];
  properties?: Record<string, ValueSchema>;
  required?: string[];
  additionalProperties?: unknown;
  items?: ValueSchema;
  enum?: unknown[];
  const?: unknown;
  anyOf?: ValueSchema[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  pattern?: string;
  format?: string;
  default?: unknown;
  description?: string;
  /** `.meta({ secret: true })`: its value is never shown. */
  secret?: boolean;
}

/** One setting of a schema. */
export interface ConfigKey {
  /** `journalBytesMax`, or `tls.certificateFile` inside a nested object. */
  readonly name: string;
  readonly path: readonly string[];
  readonly environmentName: string;
  /** How a text (from the environment or a flag) becomes a value. */
  readonly parse: 'text' | 'number' | 'boolean' | 'list' | 'json';
  /** What may be given, for people: `a whole number from 1 to 65535`. */
  readonly allowed: string;
  readonly type: string;
  readonly default: unknown;
  readonly isRequired: boolean;
  readonly isSecret: boolean;
  readonly meaning: string;
}

/** All settings of a schema, in its order. Each level must be a `z.strictObject`. */
export function configKeys(schema: ZodObject, environmentPrefix = 'DAYBOOK_'): ConfigKey[] {
  const keys: ConfigKey[] = [];
  collect(schema.toJSONSchema({ io: 'input', unrepresentable: 'any' }) as ValueSchema, [], environmentPrefix, keys);
  const names = new Set(keys.map((key) => key.environmentName));
  invariant(names.size === keys.length, 'two settings have the same name in the environment');
  return keys;
}

function collect(schema: ValueSchema, path: readonly string[], prefix: string, keys: ConfigKey[]): void {
  invariant(schema.additionalProperties === false, `the settings${path.length > 0 ? ` under ${path.join('.')}` : ''} are no z.strictObject`);
  for (const [name, value] of Object.entries(schema.properties ?? {})) {
    const valuePath = [...path, name];
    if (value.properties === undefined) {
      keys.push(configKey(valuePath, value, prefix, schema.required?.includes(name) ?? false));
    } else {
      collect(value, valuePath, prefix, keys);
    }
  }
}

function configKey(path: readonly string[], value: ValueSchema, prefix: string, isRequired: boolean): ConfigKey {
  return {
    name: path.join('.'),
    path,
    environmentName: prefix + path.map(upperSnake).join('_'),
    parse: parseKind(value),
    allowed: allowedText(value),
    type: typeText(value),
    default: value.default,
    isRequired,
    isSecret: value.secret === true,
    meaning: value.description ?? '',
  };
}

/** `journalMaxGroupWaitMSec` → `JOURNAL_MAX_GROUP_WAIT_MSEC`. */
function upperSnake(name: string): string {
  return name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();
}

function parseKind(value: ValueSchema): ConfigKey['parse'] {
  const types = (value.anyOf ?? [value]).map((option) => option.type);
  const one = types.every((type) => type === types[0]) ? types[0] : undefined;
  if (one === 'number' || one === 'integer') return 'number';
  if (one === 'boolean') return 'boolean';
  if (one === 'array') return value.items?.type === 'object' ? 'json' : 'list';
  return one === 'string' ? 'text' : 'json';
}

function typeText(value: ValueSchema): string {
  if (value.enum !== undefined) return value.enum.map((option) => `\`${option}\``).join(', ');
  if (value.anyOf !== undefined) return value.anyOf.map(typeText).join(' or ');
  if (value.type === 'integer') return 'whole number';
  if (value.type === 'array') return `list of ${value.items === undefined ? 'values' : typeText(value.items)}`;
  if (value.type === 'string') return value.format ?? 'text';
  return String(value.type ?? 'any value');
}

function allowedText(value: ValueSchema): string {
  if (value.const !== undefined) return JSON.stringify(value.const);
  if (value.enum !== undefined) return `one of ${value.enum.map((option) => JSON.stringify(option)).join(', ')}`;
  if (value.anyOf !== undefined) return value.anyOf.map(allowedText).join(' or ');
  switch (value.type) {
    case 'integer':
      return `a whole number${rangeText(value)}`;
    case 'number':
      return `a number${rangeText(value)}`;
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${value.minItems === undefined ? '' : ` of at least ${value.minItems}`}${value.items === undefined ? '' : `, each ${allowedText(value.items)}`}`;
    case 'string':
      return `${value.format === undefined ? 'a text' : `a ${value.format}`}${lengthText(value)}${value.pattern === undefined ? '' : ` that matches ${value.pattern}`}`;
    default:
      return value.type === undefined ? 'a value' : `an ${value.type}`;
  }
}

function rangeText(value: ValueSchema): string {
  const above = value.exclusiveMinimum === undefined ? undefined : `above ${value.exclusiveMinimum}`;
  const below = value.exclusiveMaximum === undefined ? undefined : `below ${value.exclusiveMaximum}`;
  const from = value.minimum === undefined || value.minimum === Number.MIN_SAFE_INTEGER ? above : `from ${value.minimum}`;
  const to = value.maximum === undefined || value.maximum === Number.MAX_SAFE_INTEGER ? below : `to ${value.maximum}`;
  return [from, to].map((part) => (part === undefined ? '' : ` ${part}`)).join('');
}

function lengthText({ minLength, maxLength }: ValueSchema): string {
  const from = minLength === undefined ? '' : ` of at least ${minLength} characters`;
  return from + (maxLength === undefined ? '' : `${from === '' ? ' of' : ' and'} at most ${maxLength} characters`);
}
