import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import t from 'tap';
import { pause, until } from './processes.js';
import { TcpProxy } from './tcp-proxy.js';

/** A server that says everything back, and remembers what it heard. */
async function echo(t: { teardown(task: () => Promise<void>): unknown }) {
  const heard: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (bytes) => {
      heard.push(bytes.toString());
      socket.write(bytes);
    });
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy = await TcpProxy.start(() => (server.address() as AddressInfo).port);
  const client = connect(proxy.port, '127.0.0.1');
  let answer = '';
  client.on('data', (bytes) => {
    answer += bytes.toString();
  });
  client.on('error', () => undefined);
  await once(client, 'connect');
  t.teardown(async () => {
    client.destroy();
    for (const socket of sockets) socket.destroy();
    server.close();
    await proxy.close();
  });
  const says = (text: string) => until(`the answer is ${text}`, 2_000, () => answer === text);
  return { proxy, client, heard, says, answer: () => answer };
}

t.test('tcp proxy: cut towards the server -> nothing is heard until the cut ends, then all of it', async (t) => {
  const { proxy, client, heard, says } = await echo(t);
  client.write('a');
  await says('a');
  proxy.set('to-server');
  client.write('b');
  await pause(100);
  t.same(heard, ['a']);
  proxy.set('none');
  await says('ab');
});

t.test('tcp proxy: cut towards the client -> the server hears, its answers come when the cut ends', async (t) => {
  const { proxy, client, heard, says, answer } = await echo(t);
  proxy.set('to-client');
  client.write('a');
  await until('it is heard', 2_000, () => heard.length === 1);
  await pause(50);
  t.equal(answer(), '');
  proxy.set('none');
  await says('a');
});

t.test('tcp proxy: reset -> connections end, and new ones until the cut ends', async (t) => {
  const { proxy, client } = await echo(t);
  const closed = once(client, 'close');
  proxy.set('reset');
  await closed;
  const refused = connect(proxy.port, '127.0.0.1');
  refused.on('error', () => undefined);
  await once(refused, 'close');
  proxy.set('none');
  const accepted = connect(proxy.port, '127.0.0.1');
  accepted.write('x');
  t.equal(String((await once(accepted, 'data'))[0]), 'x');
  accepted.destroy();
});
