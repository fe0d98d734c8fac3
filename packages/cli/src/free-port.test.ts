import { createServer } from 'node:net';
import t from 'tap';
import { chosenPort, reachable } from './free-port.js';

t.test('chosenPort: 0 -> a free port; a free one -> that one', async (t) => {
  const port = await chosenPort('127.0.0.1', 0);
  t.ok(port > 0);
  t.equal(await chosenPort('127.0.0.1', port), port);
});

t.test('chosenPort: a port in use, an address of somebody else -> CLI_CANNOT_LISTEN with the reason', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  await t.rejects(chosenPort('127.0.0.1', (server.address() as { port: number }).port), { code: 'CLI_CANNOT_LISTEN', message: /the port is in use/ });
  await t.rejects(chosenPort('192.0.2.1', 0), { code: 'CLI_CANNOT_LISTEN', message: /no such address/ });
});

t.test('reachable: how others get there', async (t) => {
  t.equal(reachable('127.0.0.1', 1), '127.0.0.1:1');
  t.equal(reachable('0.0.0.0', 1), '127.0.0.1:1');
  t.equal(reachable('::', 1), '127.0.0.1:1');
  t.equal(reachable('::1', 1), '[::1]:1');
  t.equal(reachable('broker.example', 1), 'broker.example:1');
});
