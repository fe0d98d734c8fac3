import { createServer } from 'node:http';
import t from 'tap';
import { type WebSocket, WebSocketServer } from 'ws';
import { clientFrame } from './frames.js';
import { LoadSocket } from './load-socket.js';

t.test('load socket: against an ordinary WebSocket server', async (t) => {
  const http = createServer((_request, response) => response.end());
  const server = new WebSocketServer({ noServer: true });
  const sockets: WebSocket[] = [];
  http.on('upgrade', (request, socket, head) => {
    if (request.url !== '/ok?a=b') socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope');
    else server.handleUpgrade(request, socket, head, (webSocket) => sockets.push(webSocket));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  t.teardown(() => http.close());
  t.teardown(() => http.closeAllConnections());
  const url = `http://127.0.0.1:${(http.address() as { port: number }).port}`;
  const none = { onText: () => undefined, onLost: () => undefined };

  await t.test('load socket: texts go both ways, also large ones, pings are answered', async (t) => {
    const received: string[] = [];
    const socket = await LoadSocket.open({
      ...none,
      url,
      path: '/ok?a=b',
      onText: (bytes, start, end) => received.push(bytes.toString('utf8', start, end)),
    });
    const peer = sockets.at(-1) as WebSocket;
    const seen: string[] = [];
    const isDone = new Promise<void>((resolve) => {
      peer.on('message', (data) => {
        if (seen.push(String(data)) === 3) resolve();
      });
    });
    const isPinged = new Promise<string>((resolve) => peer.once('pong', (data) => resolve(String(data))));
    for (const text of ['one', 'x'.repeat(70_000), '{"three":3}']) socket.send(clientFrame(Buffer.from(text)));
    peer.ping('are you there');
    t.equal(await isPinged, 'are you there');
    await isDone;
    t.same(seen, ['one', 'x'.repeat(70_000), '{"three":3}']);
    peer.send('answer');
    const isClosed = new Promise<number>((resolve) => peer.once('close', resolve));
    while (received.length === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.close();
    t.equal(await isClosed, 1000, 'closed as the protocol wants it');
    t.same(received, ['answer']);
  });

  await t.test('load socket: refused at the door -> rejects with what the server said', async (t) => {
    await t.rejects(LoadSocket.open({ ...none, url, path: '/other' }), { code: 'CLI_BENCH_FAILED', message: /404 Not Found/ });
    await t.rejects(LoadSocket.open({ ...none, url: 'http://127.0.0.1:1', path: '/ok' }), { code: 'CLI_BENCH_FAILED', message: /ECONNREFUSED/ });
  });

  await t.test('load socket: the server closes or cuts it -> told once, with the reason', async (t) => {
    for (const [end, reason] of [
      [(peer: WebSocket) => peer.close(1011, 'tired'), /1011 tired/],
      [(peer: WebSocket) => peer.terminate(), /closed the connection|ECONNRESET/],
    ] as const) {
      const lost: string[] = [];
      await LoadSocket.open({ ...none, url, path: '/ok?a=b', onLost: (why) => lost.push(why) });
      end(sockets.at(-1) as WebSocket);
      while (lost.length === 0) await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setTimeout(resolve, 20));
      t.equal(lost.length, 1);
      t.match(lost[0], reason);
    }
  });
});
