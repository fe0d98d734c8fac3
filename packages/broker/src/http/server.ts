import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger, Random } from '@daybook/runtime';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Answer, Refused, reasonAnswer } from './answer.js';
import { Call } from './call.js';
import { statusOf } from './error-mapping.js';
import { parseRequestTarget } from './request-target.js';
import type { Router } from './router.js';

export interface HttpServerOptions {
  router: Router;
  random: Random;
  logger: Logger;
  bodyBytesMax: number;
  /** Takes over the connection. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void;
}

const requestMs = 60_000;

/** Our routes have no JSON schemas: without their compilers Fastify starts in a tenth of the time. */
const noSchemas = { compilersFactory: { buildValidator: compilesNothing, buildSerializer: compilesNothing } };

function compilesNothing(): never {
  throw new Error('routes have no JSON schemas');
}

/**
 * The HTTP server. Fastify reads requests and writes answers; which handler a path belongs to is decided by our own router on the undecoded path, as
 * names may contain encoded slashes and percent signs.
 */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: options.bodyBytesMax,
    requestTimeout: requestMs,
    forceCloseConnections: 'idle',
    schemaController: noSchemas,
    return503OnClosing: true,
    rewriteUrl: () => '/',
    clientErrorHandler: answerMalformed,
    exposeHeadRoutes: false,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.all('/', (request, reply) => answer(request, reply, options));
  app.setNotFoundHandler((request, reply) => answer(request, reply, options));
  app.setErrorHandler((error, request, reply) => send(reply, answerOf(error, request.originalUrl, options)));
  app.server.on('upgrade', options.upgrade);
  return app;
}

async function answer(request: FastifyRequest, reply: FastifyReply, options: HttpServerOptions): Promise<FastifyReply> {
  return send(reply, await route(request, options));
}

async function route(request: FastifyRequest, options: HttpServerOptions): Promise<Answer> {
  const url = request.originalUrl;
  const target = parseRequestTarget(url);
  if (target === undefined) return reasonAnswer(400, 'Bad Message 400: the path or query has a broken escape');
  const found = options.router.find(request.method, target.segments);
  switch (found.kind) {
    case 'nothing':
      return target.segments[0] === 'ws' ? reasonAnswer(405, 'HTTP method GET is not supported by this URL: open it as a WebSocket') : notFound;
    case 'wrong-method':
      return wrongMethod(request.method, found.allowed);
    case 'handler': {
      const { headers, method } = request;
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      return found.handler(new Call({ method, url, headers, body, segments: target.segments, query: target.query, parameters: found.parameters }));
    }
  }
}

const notFound = reasonAnswer(404, 'Not Found: there is nothing at this path');

function wrongMethod(method: string, allowed: readonly string[]): Answer {
  const allow = [...new Set([...allowed, ...(allowed.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])].join(', ');
  if (method === 'OPTIONS') return { status: 200, headers: { allow }, body: '' };
  const refusal = reasonAnswer(405, `Method Not Allowed: this path takes ${allow}`);
  return { ...refusal, headers: { ...refusal.headers, allow } };
}

/** Expected errors say what they have to say; everything else is logged under an id and answered without details. */
function answerOf(error: unknown, url: string, options: HttpServerOptions): Answer {
  if (error instanceof Refused) return error.answer;
  const status = statusOf(error);
  if (status !== undefined) return reasonAnswer(status, (error as Error).message);
  const requestError = clientFault(error);
  if (requestError !== undefined) return requestError;
  const errorId = Buffer.from(options.random.bytes(6)).toString('hex');
  options.logger.error({ error, errorId, url }, 'a request failed unexpectedly');
  return reasonAnswer(500, `An unexpected error occurred in the server; its log has the details under error id ${errorId}`);
}

/** What Fastify finds wrong with a request itself: a body that is too large, or shorter than announced. */
function clientFault(error: unknown): Answer | undefined {
  if (typeof error !== 'object' || error === null || !('statusCode' in error) || !('code' in error)) return undefined;
  const { statusCode, code } = error;
  if (typeof statusCode !== 'number' || statusCode < 400 || statusCode > 499 || typeof code !== 'string' || !code.startsWith('FST_'))
    return undefined;
  return reasonAnswer(statusCode, statusCode === 413 ? 'The body is too large' : 'Bad Request: the body cannot be read');
}

function send(reply: FastifyReply, { status, headers, body }: Answer): FastifyReply {
  // With a body Fastify would add a content type: an empty one has none.
  return reply
    .code(status)
    .headers(headers)
    .send(body === '' ? undefined : body);
}

/** Bytes that are no HTTP request. */
function answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  const body = `{"reason":"${status.slice(4)}"}`;
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}
