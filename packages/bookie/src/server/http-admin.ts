import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineErrors, type Logger, type Metrics } from '@daybook/runtime';

export const bookieHttpErrors = defineErrors('BOOKIE_HTTP', {
  LISTEN: {
    retry: 'never',
    text: (address: string, detail: string) => `the bookie's HTTP service cannot listen on ${address}: ${detail}. Choose another httpPort`,
  },
});

export interface BookieHttpOptions {
  /** 127.0.0.1 unless operators want it elsewhere: there is no authentication. */
  host: string;
  /** 0 takes a free one. */
  port: number;
  metrics: Metrics;
  /** The process works. */
  isHealthy(): boolean;
  /** It takes and serves entries, and has told the cluster so. */
  isReady(): boolean;
  logger: Logger;
}

export interface BookieHttp extends AsyncDisposable {
  readonly port: number;
  close(): Promise<void>;
}

/** `/metrics`, `/healthz`, `/readyz`, and BookKeeper's `/heartbeat`. */
export async function startBookieHttp(options: BookieHttpOptions): Promise<BookieHttp> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      options.logger.error({ error }, 'an HTTP request failed');
      response.destroy();
    });
  });
  const address = `${options.host}:${options.port}`;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(bookieHttpErrors.LISTEN(address, error.message, { cause: error })));
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  options.logger.info({ port }, 'bookie answers HTTP');
  const close = (): Promise<void> => closeServer(server);
  return { port, close, [Symbol.asyncDispose]: close };
}

async function answer(options: BookieHttpOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0];
  const respond = (code: number, text: string, type = 'text/plain; charset=utf-8'): void => {
    response.writeHead(code, { 'content-type': type }).end(request.method === 'HEAD' ? undefined : text);
  };
  if (request.method !== 'GET' && request.method !== 'HEAD') return respond(405, 'only GET is answered here\n');
  switch (path) {
    case '/metrics':
      return respond(200, await options.metrics.text(), options.metrics.contentType);
    case '/heartbeat':
      return respond(200, 'OK\n');
    case '/healthz':
      return options.isHealthy() ? respond(200, 'ok\n') : respond(503, 'failed: it must be started again\n');
    case '/readyz':
      return options.isReady() ? respond(200, 'ready\n') : respond(503, 'not ready\n');
    default:
      return respond(404, 'there are /metrics, /healthz, /readyz and /heartbeat\n');
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
