import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DaybookError, type Logger, type Metrics } from '@daybook/runtime';
import { type AdminMethod, type AdminRoute, adminMethods, bodyBytesMax, parseBody, statusOf } from './admin-route.js';
import { bookieHttpErrors } from './http-errors.js';

export type { AdminHandler, AdminMethod, AdminRequest, AdminRoute } from './admin-route.js';
export { bookieHttpErrors } from './http-errors.js';

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
  /** Paths of the administration service. */
  routes?: readonly AdminRoute[];
  logger: Logger;
}

export interface BookieHttp extends AsyncDisposable {
  readonly port: number;
  close(): Promise<void>;
}

/** `/metrics`, `/healthz`, `/readyz`, BookKeeper's `/heartbeat`, and the routes that were given. */
export async function startBookieHttp(options: BookieHttpOptions): Promise<BookieHttp> {
  const routes = new Map((options.routes ?? []).map((route) => [route.path, route]));
  const server = createServer((request, response) => {
    answer(options, routes, request, response).catch((error: unknown) => {
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

async function answer(
  options: BookieHttpOptions,
  routes: ReadonlyMap<string, AdminRoute>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  const plain = await plainAnswer(options, path);
  if (plain !== undefined) {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const { code, text, type } = isRead ? plain : { code: 405, text: 'only GET is answered here\n', type: textType };
    if (!isRead) response.setHeader('allow', 'GET, HEAD');
    response.writeHead(code, { 'content-type': type }).end(request.method === 'HEAD' ? undefined : text);
    return;
  }
  const route = routes.get(path.replace(/(?<=.)\/$/, ''));
  if (route === undefined) {
    respondError(request, response, 404, bookieHttpErrors.NOT_FOUND(`${path} here; the paths are in docs/shell.md`));
    return;
  }
  await answerRoute(options, route, { query: new URLSearchParams(query), request, response });
}

const textType = 'text/plain; charset=utf-8';

async function plainAnswer(options: BookieHttpOptions, path: string): Promise<{ code: number; text: string; type: string } | undefined> {
  switch (path) {
    case '/metrics':
      return { code: 200, text: await options.metrics.text(), type: options.metrics.contentType };
    case '/heartbeat':
      return { code: 200, text: 'OK\n', type: textType };
    case '/healthz':
      return options.isHealthy()
        ? { code: 200, text: 'ok\n', type: textType }
        : { code: 503, text: 'failed: it must be started again\n', type: textType };
    case '/readyz':
      return options.isReady() ? { code: 200, text: 'ready\n', type: textType } : { code: 503, text: 'not ready\n', type: textType };
    default:
      return undefined;
  }
}

async function answerRoute(
  { logger }: BookieHttpOptions,
  route: AdminRoute,
  { query, request, response }: { query: URLSearchParams; request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const method = (request.method === 'HEAD' ? 'GET' : request.method) as AdminMethod;
  const handler = adminMethods.includes(method) ? route[method] : undefined;
  if (handler === undefined) {
    const allowed = adminMethods.filter((each) => route[each] !== undefined);
    response.setHeader('allow', allowed.join(', '));
    respondError(request, response, 405, bookieHttpErrors.BAD_REQUEST(`${request.method} is not answered here; ${allowed.join(', ')} is`));
    return;
  }
  try {
    const body = method === 'PUT' ? parseBody(await readBody(request)) : undefined;
    respondJson(request, response, 200, await handler({ query, body }));
  } catch (error) {
    if (error instanceof DaybookError) {
      respondError(request, response, statusOf(error), error);
      return;
    }
    // Its text is for the log alone.
    logger.error({ error, path: route.path }, 'an administration request failed');
    respondJson(request, response, 500, { error: 'something unexpected happened; the log of the bookie says what' });
  }
}

function respondError(request: IncomingMessage, response: ServerResponse, status: number, error: DaybookError): void {
  respondJson(request, response, status, { error: error.message, code: error.code });
}

function respondJson(request: IncomingMessage, response: ServerResponse, status: number, value: unknown): void {
  // A body that nobody reads would hold the connection up.
  if (status >= 400 && !request.complete) response.setHeader('connection', 'close');
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(request.method === 'HEAD' ? undefined : `${JSON.stringify(value ?? null)}\n`);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  // Not destroyed when it is too much: the answer goes the same way.
  for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > bodyBytesMax) throw bookieHttpErrors.TOO_LARGE(bodyBytesMax);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
