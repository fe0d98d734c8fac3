import { writeFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { configTable } from './config-table.js';
import { withoutJsonComments } from './json-comments.js';
import { loadConfig } from './load-config.js';

const schema = z
  .strictObject({
    port: z.int().min(1).max(65_535).default(8080).describe('Where it listens.'),
    flushDelayMs: z.number().min(0).default(1.5).describe('Longest wait | for company.'),
    isReadOnly: z.boolean().default(false),
    digest: z.enum(['crc32c', 'mac']).default('crc32c'),
    directories: z.array(z.string()).default(['data']),
    adminToken: z.string().min(8).meta({ secret: true }).optional(),
    clusterName: z.string(),
    writeQuorum: z.int().default(2),
    ackQuorum: z.int().default(2),
    tls: z.strictObject({ certificateFile: z.string().default('') }).prefault({}),
  })
  .check((c) => {
    if (c.value.ackQuorum > c.value.writeQuorum) {
      c.issues.push({ code: 'custom', message: 'must not be above writeQuorum', path: ['ackQuorum'], input: c.value });
    }
  });

function fileWith(t: Test, content: string): string {
  return `${t.testdir({ 'daybook.json': content })}/daybook.json`;
}

t.test('loadConfig: file < environment < flags, defaults below all → merged and frozen', async (t) => {
  const file = fileWith(t, '{ // comment\n "port": 1, "flushDelayMs": 2, "digest": "mac", "clusterName": "a//b", "tls": {"certificateFile": "f"} }');
  const config = loadConfig({
    schema,
    file,
    environment: { DAYBOOK_PORT: '5', DAYBOOK_FLUSH_DELAY_MS: '3', DAYBOOK_DIRECTORIES: 'a, b', DAYBOOK_IS_READ_ONLY: 'true', PATH: 'x' },
    flags: { port: 6, clusterName: undefined },
  });
  t.same(config, {
    port: 6,
    flushDelayMs: 3,
    isReadOnly: true,
    digest: 'mac',
    directories: ['a', 'b'],
    clusterName: 'a//b',
    writeQuorum: 2,
    ackQuorum: 2,
    tls: { certificateFile: 'f' },
  });
  t.throws(() => {
    (config as { port: number }).port = 1;
  }, TypeError);
  t.throws(() => {
    (config.directories as string[]).push('c');
  }, TypeError);
});

t.test('loadConfig: nested key from the environment and from a flag → set, the rest of the object kept', async (t) => {
  const environment = { DAYBOOK_CLUSTER_NAME: 'c', DAYBOOK_TLS_CERTIFICATE_FILE: 'e' };
  t.equal(loadConfig({ schema, environment }).tls.certificateFile, 'e');
  t.equal(loadConfig({ schema, environment, flags: { 'tls.certificateFile': 'f' } }).tls.certificateFile, 'f');
});

t.test('loadConfig: many problems → one error that names each key, value, source and what is allowed', async (t) => {
  const file = fileWith(t, '{"prot": 9, "flushDelayMs": -1, "tls": {"certFile": 1}, "zzz": 1, "adminToken": "short"}');
  try {
    loadConfig({ schema, file, environment: { DAYBOOK_PORT: '70000', DAYBOOK_DIGST: 'x' }, flags: { isReadOnly: 'maybe', digets: 'mac' } });
    t.fail('must throw');
  } catch (error) {
    t.equal((error as { code: string }).code, 'CONFIG_INVALID');
    const lines = (error as Error).message.split('\n').slice(1).sort();
    t.same(lines, [
      '  DAYBOOK_DIGST (environment): unknown setting; did you mean DAYBOOK_DIGEST?',
      `  adminToken (file ${file}): must be a text of at least 8 characters`,
      '  clusterName: is required and must be a text',
      '  digets (flag): unknown setting; did you mean digest?',
      `  flushDelayMs = -1 (file ${file}): must be a number from 0`,
      '  isReadOnly = "maybe" (flag --isReadOnly): must be true or false',
      '  port = 70000 (environment DAYBOOK_PORT): must be a whole number from 1 to 65535',
      `  prot (file ${file}): unknown setting; did you mean port?`,
      `  tls.certFile (file ${file}): unknown setting`,
      `  zzz (file ${file}): unknown setting`,
    ]);
    t.notMatch((error as Error).message, /short/, 'a secret is not shown');
  }
});

t.test('loadConfig: rule over two keys broken → its message with the value', async (t) => {
  t.throws(() => loadConfig({ schema, flags: { clusterName: 'c', ackQuorum: 3 } }), {
    message: /ackQuorum = 3 \(flag --ackQuorum\): must not be above writeQuorum/,
  });
});

t.test('loadConfig: file missing, not JSON, or no object → CONFIG_UNREADABLE', async (t) => {
  for (const file of ['/none/there.json', fileWith(t, '{"a": }'), fileWith(t, '[1]')]) {
    t.throws(() => loadConfig({ schema, file }), { code: 'CONFIG_UNREADABLE' });
  }
});

t.test('loadConfig: __proto__ in the file → refused', async (t) => {
  const file = `${t.testdir()}/f.json`;
  writeFileSync(file, '{"__proto__": {"port": 1}, "clusterName": "c"}');
  t.throws(() => loadConfig({ schema, file }), { code: 'CONFIG_INVALID', message: /__proto__/ });
});

t.test('loadConfig: what Kubernetes sets for a service named daybook → no settings', async (t) => {
  const environment = {
    DAYBOOK_SERVICE_HOST: '10.0.0.1',
    DAYBOOK_SERVICE_PORT_HTTP: '8080',
    DAYBOOK_PORT: 'tcp://10.0.0.1:8080',
    DAYBOOK_PORT_8080_TCP_ADDR: '10.0.0.1',
    DAYBOOK_CONFIG: '/x',
    DAYBOOK_CLUSTER_NAME: 'c',
  };
  t.equal(loadConfig({ schema, environment, environmentIgnored: ['DAYBOOK_CONFIG'] }).port, 8080);
});

t.test('loadConfig: schema that would ignore unknown keys → broken invariant', async (t) => {
  t.throws(() => loadConfig({ schema: z.object({ a: z.string().default('') }) }), { name: 'BrokenInvariant' });
});

t.test('withoutJsonComments: comment marks in strings → kept; positions → unchanged', async (t) => {
  const text = '{"a": "x//y /* \\" */", /* one\n two */ "b": 1} // end';
  const blanked = withoutJsonComments(text);
  t.same(JSON.parse(blanked), { a: 'x//y /* " */', b: 1 });
  t.equal(blanked.length, text.length);
});

t.test('configTable → unit from the name, default, meaning and range', async (t) => {
  const lines = configTable(schema).split('\n');
  t.equal(lines[0], '| key | unit or type | default | meaning |');
  t.ok(lines.includes('| `port` | whole number | `8080` | Where it listens. (from 1 to 65535) |'));
  t.ok(lines.includes('| `flushDelayMs` | milliseconds | `1.5` | Longest wait \\| for company. (from 0) |'));
  t.ok(lines.includes('| `digest` | `crc32c`, `mac` | `"crc32c"` |  |'));
  t.ok(lines.includes('| `clusterName` | text | (required) |  |'));
  t.ok(lines.includes('| `tls.certificateFile` | text | `""` |  |'));
});
