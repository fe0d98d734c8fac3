// biome-ignore lint/style/noRestrictedImports: it stands between two real sockets.
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Stands between a client and a server on 127.0.0.1, to cut them off, to swallow answers or to let nothing through. For tests. */
export class TcpProxy {
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #sockets = new Set<Socket>();
  #mode: 'open' | 'swallow-answers' | 'silent' | 'refuse' = 'open';
  #onDropped: () => void = () => undefined;
  port = 0;

  private constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    proxy.port = (proxy.#server.address() as { port: number }).port;
    return proxy;
  }

  /** Everything passes again, on the connections that are left and on new ones. */
  open(): void {
    this.#mode = 'open';
  }

  /** Requests pass, answers vanish. */
  swallowAnswers(): void {
    this.#mode = 'swallow-answers';
  }

  /** Nothing passes, but the connections stay: a network that drops packets. */
  silence(): void {
    this.#mode = 'silent';
  }

  /** Ends all connections and lets no new one live. */
  refuse(): void {
    this.#mode = 'refuse';
    this.cut();
  }

  /** Ends all connections; new ones are welcome. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Resolves at the next request that vanishes in silence. */
  dropped(): Promise<void> {
    return new Promise((resolve) => {
      this.#onDropped = resolve;
    });
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    if (this.#mode === 'refuse') {
      client.destroy();
      return;
    }
    const upstream = connect({ host: '127.0.0.1', port: this.#targetPort });
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.on('data', (chunk) => {
      if (this.#mode === 'silent') this.#onDropped();
      else upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (this.#mode === 'open') client.write(chunk);
    });
    client.on('close', () => this.#forget(client, upstream));
    upstream.on('close', () => this.#forget(upstream, client));
  }

  #forget(socket: Socket, other: Socket): void {
    this.#sockets.delete(socket);
    other.destroy();
  }
}
