import { createServer } from 'node:net';
import t from 'tap';
import { Daybook, runDaybook, temporaryFolder } from './testing/run-daybook.js';

const readyPattern = /Daybook is ready: (http:\/\/[\d.]+:\d+)/;

t.test('daybook standalone: started, used, ended, started again -> everything is still there', async (t) => {
  const folder = temporaryFolder(t);
  const start = (): Daybook => new Daybook(['standalone', '--port', '0', '--data', folder, '--log-level', 'warn']);
  const first = start();
  const url = await first.printed(readyPattern);
  t.ok(((await (await fetch(`${url}/admin/v2/tenants`)).json()) as string[]).includes('public'));
  const produced = await runDaybook(['produce', 'orders', '-m', 'one', 'two', '--url', url]);
  t.equal(produced.code, 0);
  t.equal(produced.output.trim().split('\n').length, 2, 'an id for each');
  const { code, errors } = await first.end();
  t.equal(code, 0, 'SIGTERM is a wish, not a failure');
  t.equal(errors, '');

  const second = start();
  const consumed = await runDaybook(['consume', 'orders', '-s', 's', '-p', 'Earliest', '-n', '2', '--url', await second.printed(readyPattern)]);
  t.equal(consumed.output, 'one\ntwo\n');
  t.equal(consumed.code, 0);
  t.equal((await second.end('SIGINT')).code, 0);
});

t.test('daybook standalone: its folder is in use -> exit code 1, one line that says so', async (t) => {
  const folder = temporaryFolder(t);
  const first = new Daybook(['standalone', '--port', '0', '--data', folder]);
  await first.printed(readyPattern);
  const { code, output, errors } = await runDaybook(['standalone', '--port', '0', '--data', folder]);
  t.equal(code, 1);
  t.equal(output, '');
  t.match(errors, /^daybook: .* is in use by another process: end it first, or choose another folder\n$/);
  await first.end();
});

t.test('daybook standalone: its port is in use -> exit code 1, one line, nothing was opened', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const { code, errors } = await runDaybook(['standalone', '--port', String(port), '--data', temporaryFolder(t)]);
  t.equal(code, 1);
  t.equal(errors, `daybook: cannot listen on 127.0.0.1:${port}: the port is in use. Choose another port or address, or end what uses it\n`);
});

t.test('daybook standalone: --log-format json -> each line of the log is an object', async (t) => {
  const standalone = new Daybook(['standalone', '--port', '0', '--data', temporaryFolder(t), '--log-format', 'json']);
  await standalone.printed(readyPattern);
  const { errors } = await standalone.end();
  const lines = errors.trim().split('\n');
  t.ok(lines.length > 0);
  for (const line of lines) t.doesNotThrow(() => JSON.parse(line), line);
});
