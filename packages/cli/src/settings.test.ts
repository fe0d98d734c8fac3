import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { bookieProcessConfigSchema } from './bookie-process-config.js';
import { loadSettings, otherVariables } from './settings.js';
import { standaloneConfigSchema } from './standalone-config.js';

function withEnvironment(t: { teardown(task: () => void): void }, environment: Readonly<Record<string, string>>): void {
  const before = { ...process.env };
  for (const name of Object.keys(process.env)) if (name.startsWith('DAYBOOK_')) delete process.env[name];
  Object.assign(process.env, environment);
  t.teardown(() => {
    process.env = before;
  });
}

t.test('settings: given in a file, the environment and as flags -> the later one wins, the rest stays', async (t) => {
  const file = join(t.testdir(), 'daybook.json');
  writeFileSync(file, '{ /* for all */ "port": 1001, "host": "127.0.0.2", "maxMessageSize": 1000, "logLevel": "warn" }');
  withEnvironment(t, { DAYBOOK_PORT: '1002', DAYBOOK_MAX_MESSAGE_SIZE: '2000', DAYBOOK_CONFIG: 'not looked at here' });
  const config = loadSettings(
    standaloneConfigSchema,
    { config: file, set: { maxMessageSize: '3000', dataDirectory: 'from-set' } },
    { port: undefined },
  );
  t.match(config, { host: '127.0.0.2', port: 1002, maxMessageSize: 3000, dataDirectory: 'from-set', logLevel: 'warn', flushIntervalMs: 10_000 });
  t.equal(
    loadSettings(standaloneConfigSchema, { config: file, set: { port: '1003' } }, { port: 1004 }).port,
    1004,
    'an option of its own wins over --set',
  );
});

t.test('settings: a variable that is no setting -> refused by name; those of the command itself are left alone', async (t) => {
  withEnvironment(t, { DAYBOOK_MAX_MESAGE_SIZE: '1' });
  t.throws(() => loadSettings(standaloneConfigSchema, { set: {} }, {}), { code: 'CONFIG_INVALID', message: /DAYBOOK_MAX_MESAGE_SIZE/ });
  withEnvironment(t, Object.fromEntries(otherVariables.map((name) => [name, 'anything'])));
  t.equal(loadSettings(standaloneConfigSchema, { set: {} }, {}).port, 8080);
});

t.test('settings: DAYBOOK_METADATA -> taken by who has a cluster, no obstacle for standalone', async (t) => {
  withEnvironment(t, { DAYBOOK_METADATA: 'zk://127.0.0.1:2181/x' });
  t.equal(loadSettings(bookieProcessConfigSchema, { set: {} }, {}).metadata, 'zk://127.0.0.1:2181/x');
  t.equal(loadSettings(standaloneConfigSchema, { set: {} }, {}).port, 8080);
});
