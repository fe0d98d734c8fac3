import type { ZodObject } from 'zod';
import { type ConfigKey, configKeys } from './config-keys.js';

/** The settings of a schema as a markdown table, for `docs/configuration.md`. */
export function configTable(schema: ZodObject, environmentPrefix?: string): string {
  const rows = configKeys(schema, environmentPrefix).map((key) =>
    [`\`${key.name}\``, unitText(key), defaultText(key), `${sentence(key.meaning)}${limitsText(key)}`].map(cell).join(' | '),
  );
  return ['| key | unit or type | default | meaning |', '|---|---|---|---|', ...rows.map((row) => `| ${row} |`), ''].join('\n');
}

/** The unit is in the name; a few old names of Pulsar and BookKeeper spell it differently. */
const units: readonly (readonly [RegExp, string])[] = [
  [/(Ms|MSec|Millis|Milliseconds)(Min|Max)?$/, 'milliseconds'],
  [/(Seconds|Sec)(Min|Max)?$/, 'seconds'],
  [/Minutes(Min|Max)?$/, 'minutes'],
  [/Hours(Min|Max)?$/, 'hours'],
  [/(SizeMB|InMB|MB)$/, 'MiB'],
  [/Bytes(PerSecond)?(Min|Max)?$/, 'bytes'],
  [/Percent(age)?(Min|Max)?$/, 'percent'],
];

function unitText(key: ConfigKey): string {
  const unit = key.parse === 'number' ? units.find(([pattern]) => pattern.test(key.name))?.[1] : undefined;
  return unit ?? key.type;
}

function defaultText(key: ConfigKey): string {
  if (key.isRequired) return '(required)';
  return key.default === undefined ? '' : `\`${JSON.stringify(key.default)}\``;
}

/** Numbers say their range; other limits are in the type. */
function limitsText(key: ConfigKey): string {
  const range = key.parse === 'number' ? key.allowed.replace(/^a (whole )?number/, '').trim() : '';
  return range === '' ? '' : ` (${range})`;
}

function sentence(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
