import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  autoRecoveryProcessConfigSchema,
  bookieProcessConfigSchema,
  brokerProcessConfigSchema,
  standaloneConfigSchema,
} from '@daybook/cli/reference';
import { configTable, type DefinedErrors, definedErrors } from '@daybook/runtime';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** The pages that are made from tables and schemas: path in the repository → content. */
export async function generatedDocs(): Promise<Map<string, string>> {
  await loadAllPackages();
  return new Map([
    ['docs/errors.md', errorsPage(definedErrors())],
    ['docs/configuration.md', configurationPage()],
  ]);
}

/** Each table of errors registers itself when its file is loaded: so load whatever the packages export, tests' helpers aside. */
async function loadAllPackages(): Promise<void> {
  for (const name of readdirSync(join(root, 'packages'))) {
    const folder = join(root, 'packages', name);
    const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { exports: Record<string, { default: string }> };
    for (const [subPath, { default: file }] of Object.entries(exports)) {
      if (!/testing|conformance/.test(subPath)) await import(pathToFileURL(join(folder, file)).href);
    }
  }
}

const retryTexts = { never: 'not the same again', later: 'later' } as const;

function errorsPage(tables: readonly DefinedErrors[]): string {
  const sections = [...tables]
    .sort((a, b) => (a.area < b.area ? -1 : 1))
    .map(({ area, table }) => {
      const rows = Object.entries(table).map(
        ([key, { retry, text }]) => `| \`${area}_${key}\` | ${retryTexts[retry]} | ${cell(exampleText(text))} |`,
      );
      return `## ${area}\n\n| code | try again | text |\n|---|---|---|\n${rows.join('\n')}\n`;
    });
  return `# Errors

Generated from the tables in the source by \`npm run docs\`; do not edit.

Every expected failure has a code, says whether trying the same again can help, and has a text that says what to do. Programs look at codes, never at texts.
Words in \`<...>\` stand for what is known when it happens. \`DAYBOOK_DEBUG=1\` makes every command print the code, the stack and the causes too.

${sections.join('\n')}`;
}

/** The text of an error with the names of its parameters in place of their values. */
export function exampleText(text: (...values: never[]) => string): string {
  const names = parameterNames(text);
  const placeholders = names.map((name) => `<${words(name)}>`);
  return (text as (...values: string[]) => string)(...placeholders);
}

function parameterNames(text: (...values: never[]) => string): string[] {
  const head = /^\(?([^()=]*)\)?\s*=>/.exec(text.toString())?.[1] ?? '';
  return head
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

const words = (camelCase: string): string => camelCase.replaceAll(/([a-z])([A-Z])/g, (_all, a: string, b: string) => `${a} ${b.toLowerCase()}`);
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');

function configurationPage(): string {
  return `# Configuration

Generated from the schemas in the source by \`npm run docs\`; do not edit.

Each server process (\`daybook standalone\`, \`daybook bookie\`, \`daybook broker\`, \`daybook autorecovery\`) has one strict schema. A setting may come from, the later one winning,

1. a file: \`--config FILE\` or \`DAYBOOK_CONFIG=FILE\`, JSON with the keys below, comments allowed;
2. the environment: \`DAYBOOK_\` and the key in capitals, \`maxMessageSize\` → \`DAYBOOK_MAX_MESSAGE_SIZE\`; lists are separated by commas;
3. the command line: \`--set KEY=VALUE\`, or the option of its own that the common ones have (\`daybook broker --help\`).

An unknown key or a value that is not allowed is refused at the start (exit code 2) with every problem, where it came from, and what is allowed. Names and units
are those of Pulsar and BookKeeper where the meaning is the same.

Variables that are no settings: \`DAYBOOK_CONFIG\` (above), \`DAYBOOK_DEBUG=1\` (codes, stacks and causes with errors), \`DAYBOOK_URL\` and \`DAYBOOK_TOKEN\`
(defaults of \`--url\` and \`--token\` of the client commands), \`DAYBOOK_METADATA\` (also the default of \`daybook ledger --metadata\`), \`DAYBOOK_JAVA\` and
\`DAYBOOK_ZOOKEEPER_CLASSPATH\` (the ZooKeeper that \`daybook cluster\` starts).

## daybook standalone

${configTable(standaloneConfigSchema)}
## daybook bookie

${configTable(bookieProcessConfigSchema)}
## daybook broker

${configTable(brokerProcessConfigSchema)}
## daybook autorecovery

${configTable(autoRecoveryProcessConfigSchema)}`;
}
