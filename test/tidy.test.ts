import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import {
  autoRecoveryProcessConfigSchema,
  bookieProcessConfigSchema,
  brokerProcessConfigSchema,
  otherVariables,
  standaloneConfigSchema,
} from '@daybook/cli/reference';
import { configKeys, definedErrors } from '@daybook/runtime';
import t from 'tap';
import { generatedDocs, root } from './docs/generated-docs.js';
import { importsOf, isForTests, isTest, packageOf, readSource, repositoryFiles } from './tidy/source-files.js';

const files = repositoryFiles();
const sources = files.filter((path) => /^(packages\/[^/]+\/src|test|examples)\/.*\.ts$/.test(path)).map(readSource);
const packageSources = sources.filter(({ path }) => path.startsWith('packages/'));
const importsByFile = new Map(sources.map((source) => [source.path, importsOf(source)]));

/** Which of our packages each package may import: the arrows of docs/ARCHITECTURE.md. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  proto: ['runtime'],
  metadata: ['runtime', 'proto'],
  ledger: ['runtime', 'proto', 'metadata'],
  bookie: ['runtime', 'proto', 'metadata'],
  broker: ['runtime', 'proto', 'metadata', 'ledger'],
  client: ['proto'],
  cli: ['runtime', 'proto', 'metadata', 'ledger', 'bookie', 'broker', 'client'],
};

t.test('packages: each imports only what is below it', async (t) => {
  t.same(new Set(packageSources.map(({ path }) => packageOf(path))), new Set(Object.keys(arrows)), 'every package has its arrows');
  const wrong: string[] = [];
  for (const { path } of packageSources) {
    const from = packageOf(path) as string;
    for (const { specifier } of importsByFile.get(path) ?? []) {
      const to = /^@daybook\/([^/]+)/.exec(specifier)?.[1];
      if (to !== undefined && to !== from && !arrows[from]?.includes(to)) wrong.push(`${path} imports ${specifier}`);
      if (to === from) wrong.push(`${path} imports its own package by name: ${specifier}`);
    }
  }
  t.same(wrong, []);
});

t.test('packages: package.json and tsconfig.json name the same arrows', async (t) => {
  for (const [name, allowed] of Object.entries(arrows)) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(root, `packages/${name}/package.json`), 'utf8')) as {
      dependencies?: Record<string, string>;
    };
    const ours = Object.keys(dependencies).filter((dependency) => dependency.startsWith('@daybook/'));
    t.same(
      ours.filter((dependency) => !allowed.includes(dependency.slice('@daybook/'.length))),
      [],
      `${name}: dependencies`,
    );
    const { references = [] } = JSON.parse(readFileSync(join(root, `packages/${name}/tsconfig.json`), 'utf8')) as { references?: { path: string }[] };
    t.same(
      references.map(({ path }) => path.replace('../', '')).filter((reference) => !allowed.includes(reference)),
      [],
      `${name}: references`,
    );
  }
});

t.test('packages: nobody reaches past the exports of another', async (t) => {
  const wrong: string[] = [];
  for (const { path } of sources) {
    for (const { specifier, path: target } of importsByFile.get(path) ?? []) {
      const [, name, subPath] = /^@daybook\/([^/]+)(\/.*)?$/.exec(specifier) ?? [];
      if (name !== undefined) {
        const { exports } = JSON.parse(readFileSync(join(root, `packages/${name}/package.json`), 'utf8')) as { exports: Record<string, unknown> };
        if (!(`.${subPath ?? ''}` in exports)) wrong.push(`${path} imports ${specifier}, which is no export`);
      } else if (target !== undefined && packageOf(path) !== packageOf(target)) wrong.push(`${path} imports ${specifier}, a file of another package`);
    }
  }
  t.same(wrong, []);
});

/** Where each library may be imported (decision 0002); tests and their helpers may use them too. */
const edges: readonly (readonly [library: RegExp, allowed: RegExp])[] = [
  [/^ws$/, /^packages\/(broker\/src\/(websocket|http)\/|client\/src\/)/],
  [/^(fastify|@fastify\/.*)$/, /^packages\/broker\/src\/http\//],
  [/^@grpc\/grpc-js$/, /^packages\/(ledger\/src\/grpc-bookie|bookie\/src\/server\/grpc-server)\.ts$/],
  [/^node-zookeeper-client$/, /^packages\/metadata\/src\/zookeeper-[^/]*\.ts$/],
  [/^protobufjs/, /^packages\/proto\//],
  [/^prom-client$/, /^packages\/runtime\/src\/metrics\.ts$/],
  [/^pino$/, /^packages\/runtime\/src\/log[^/]*\.ts$/],
  [/^commander$/, /^packages\/cli\//],
  [/^lru-cache$/, /^packages\/(bookie|broker)\//],
];

t.test('libraries: each is imported at its edge only', async (t) => {
  const wrong = sources
    .filter(({ path }) => !isForTests(path) && path.startsWith('packages/'))
    .flatMap(({ path }) => (importsByFile.get(path) ?? []).map(({ specifier }) => ({ path, specifier })))
    .filter(({ path, specifier }) => edges.some(([library, allowed]) => library.test(specifier) && !allowed.test(path)));
  t.same(wrong, []);
});

/** Longer files have a test of their own beside them, or another one near them runs them. */
const linesWithoutTestMax = 120;
/** Only what cannot have one, with the reason. */
const untested: Readonly<Record<string, string>> = {};

t.test(`tests: a file of more than ${linesWithoutTestMax} lines is reached by a test near it`, async (t) => {
  /** By a test in the file's own folder on any way, or by one above it on the way down. */
  const reached = new Set<string>();
  const follow = (path: string, seen: Set<string>, isOnTheWay: (target: string) => boolean): void => {
    for (const { path: target } of importsByFile.get(path) ?? []) {
      if (target === undefined || seen.has(target) || !isOnTheWay(target)) continue;
      seen.add(target);
      follow(target, seen, isOnTheWay);
    }
  };
  for (const { path } of packageSources.filter((source) => isTest(source.path))) {
    reached.add(path.replace(/\.test\.ts$/, '.ts'));
    const folder = dirname(path);
    const anyWay = new Set<string>();
    follow(path, anyWay, () => true);
    for (const target of anyWay) if (dirname(target) === folder) reached.add(target);
    const down = new Set<string>();
    follow(path, down, (target) => target.startsWith(`${folder}/`));
    for (const target of down) reached.add(target);
  }
  const long = packageSources.filter(({ path, text }) => !isForTests(path) && text.split('\n').length > linesWithoutTestMax);
  t.same(
    long.filter(({ path }) => !reached.has(path) && !(path in untested)).map(({ path }) => path),
    [],
  );
  t.same(
    Object.keys(untested).filter((path) => !existsSync(join(root, path)) || reached.has(path)),
    [],
    'no exception is out of date',
  );
});

t.test('repository: no registry hosts, no paths of one machine', async (t) => {
  const registry = /registry\.[a-z]+\.[a-z]+|verdaccio|artifactory/;
  const machine = /(?<![\w.~$}-])\/(work|root|home)\/[\w.-]+/;
  const wrong = files
    .filter((path) => !/\.(png|jpg|wasm|bin|gz)$/.test(path) && path !== 'test/tidy.test.ts')
    .flatMap((path) => {
      const lines = readSource(path).text.split('\n');
      return lines.flatMap((line, index) =>
        registry.test(line) || machine.test(line) ? [`${path}:${index + 1}: ${line.trim().slice(0, 120)}`] : [],
      );
    });
  t.same(wrong.slice(0, 20), []);
});

const schemas = {
  standalone: standaloneConfigSchema,
  bookie: bookieProcessConfigSchema,
  broker: brokerProcessConfigSchema,
  autorecovery: autoRecoveryProcessConfigSchema,
};

t.test('settings: each is read somewhere', async (t) => {
  const readers = packageSources
    .filter(({ path }) => !isForTests(path) && !/(^|[/-])config\.ts$/.test(path))
    .map(({ text }) => text)
    .join('\n');
  for (const [name, schema] of Object.entries(schemas)) {
    const unread = configKeys(schema).filter((key) => !new RegExp(`\\b${key.path.at(-1)}\\b`).test(readers));
    t.same(
      unread.map((key) => key.name),
      [],
      name,
    );
  }
});

t.test('environment: each of our variables is a setting or known to be none', async (t) => {
  const settings = new Set(Object.values(schemas).flatMap((schema) => configKeys(schema).map((key) => key.environmentName)));
  const used = sources
    .filter(({ path }) => !isTest(path))
    .flatMap(({ text }) => [...text.matchAll(/process\.env\.(DAYBOOK_\w+)/g)].map((match) => match[1] as string));
  t.same(
    [...new Set(used)].filter((name) => !settings.has(name) && !otherVariables.includes(name)),
    [],
  );
});

t.test('docs: the generated pages are up to date (npm run docs)', async (t) => {
  for (const [path, content] of await generatedDocs()) t.equal(readFileSync(join(root, path), 'utf8'), content, path);
});

t.test('docs: the page of errors has every table', async (t) => {
  await generatedDocs();
  const written = packageSources
    .filter(({ path }) => !isForTests(path))
    .flatMap(({ text }) => [...text.matchAll(/\bdefineErrors\('(\w+)'/g)].map((match) => match[1]));
  const registered = definedErrors().map(({ area }) => area);
  t.same(
    written.filter((area) => !registered.includes(area as string)),
    [],
  );
  t.equal(new Set(registered).size, registered.length, 'no area is used twice');
});

t.test('docs: every decision is listed', async (t) => {
  const list = readFileSync(join(root, 'docs/adr/README.md'), 'utf8');
  const decisions = files.filter((path) => /^docs\/adr\/\d{4}-.*\.md$/.test(path)).map((path) => path.slice('docs/adr/'.length));
  t.ok(decisions.length > 0);
  t.same(
    decisions.filter((name) => !list.includes(`](${name})`)),
    [],
  );
});

t.test('docs: every link leads somewhere', async (t) => {
  const broken: string[] = [];
  for (const path of files.filter((name) => name.endsWith('.md'))) {
    const text = readSource(path).text.replaceAll(/```[\s\S]*?```/g, '');
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link) || link.startsWith('#')) continue;
      const target = normalize(join(dirname(path), decodeURIComponent(link.split('#', 1)[0] as string)));
      if (!existsSync(join(root, target))) broken.push(`${path}: ${link}`);
    }
  }
  t.same(broken, []);
});
