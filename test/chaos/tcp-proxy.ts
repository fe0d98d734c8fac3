import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What a proxy does to what passes through it. `both`, `to-server` and `to-client` are silent cuts in those directions: nothing is refused, bytes just do not arrive
 * (and arrive later, in order, when the cut ends). `reset` breaks connections and refuses new ones.
 */
export type Cut = 'none' | 'both' | 'to-server' | 'to-client' | 'reset';

interface Pair {
  client: Socket;
  server: Socket;
}

/** Stands between clients and one server on 127.0.0.1, to cut them off from each other. */
export class TcpProxy {
  readonly port: number;
  readonly #server: Server;
  readonly #target: () => number;
  readonly #pairs = new Set<Pair>();
  #cut: Cut = 'none';

  private constructor(server: Server, port: number, target: () => number) {
    this.#server = server;
    this.port = port;
    this.#target = target;
  }

  static async start(target: () => number): Promise<TcpProxy> {
    const server = createServer({ pauseOnConnect: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    const proxy = new TcpProxy(server, typeof address === 'object' && address !== null ? address.port : 0, target);
    server.on('connection', (client) => proxy.#connected(client));
    return proxy;
  }

  get cut(): Cut {
    return this.#cut;
  }

  set(cut: Cut): void {
    this.#cut = cut;
    for (const pair of this.#pairs) this.#apply(pair);
  }

  async close(): Promise<void> {
    this.set('reset');
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #connected(client: Socket): void {
    if (this.#cut === 'reset') {
      client.destroy();
      return;
    }
    const server = connect({ host: '127.0.0.1', port: this.#target() });
    const pair = { client, server };
    this.#pairs.add(pair);
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.setNoDelay(true);
      from.on('data', (bytes) => {
        if (to.write(bytes)) return;
        from.pause();
        to.once('drain', () => this.#apply(pair));
      });
      from.on('error', end);
      // The news of an end does not pass through a cut either; whoever closed is gone by then.
      from.on('close', () => (this.#isOpen(from, pair) ? end() : this.#pairs.has(pair) && setTimeout(() => from.emit('close'), 100).unref()));
    }
    server.pause();
    this.#apply(pair);
  }

  #isOpen(from: Socket, { client }: Pair): boolean {
    return this.#cut === 'none' || this.#cut === 'reset' || this.#cut === (from === client ? 'to-client' : 'to-server');
  }

  #apply(pair: Pair): void {
    if (this.#cut === 'reset') {
      pair.client.destroy();
      pair.server.destroy();
      this.#pairs.delete(pair);
      return;
    }
    for (const [from, to] of [
      [pair.client, pair.server],
      [pair.server, pair.client],
    ] as const) {
      if (this.#isOpen(from, pair) && !to.writableNeedDrain) from.resume();
      else from.pause();
    }
  }
}
