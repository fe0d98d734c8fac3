import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AutoRecovery } from '@daybook/ledger/repair';
import { readAuditor } from '@daybook/ledger/repair';
import { type MetadataStore, metadataErrors } from '@daybook/metadata';
import type { Logger, Metrics } from '@daybook/runtime';

export interface AutoRecoveryHttpOptions {
  host: string;
  port: number;
  metrics: Metrics;
  logger: Logger;
  store: MetadataStore;
  recovery: AutoRecovery;
}

/** `/metrics`, `/healthz`, `/readyz`, BookKeeper's `/heartbeat`, and `/status`: who audits, what waits, what cannot be repaired and why. */
export async function startAutoRecoveryHttp(options: AutoRecoveryHttpOptions): Promise<{ close(): Promise<void> }> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      options.logger.error({ error }, 'an HTTP request failed');
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return { close: () => closeServer(server) };
}

async function answer(options: AutoRecoveryHttpOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { metrics, store } = options;
  const path = (request.url ?? '/').split('?', 1)[0];
  const respond = (code: number, text: string, type = 'text/plain; charset=utf-8'): void => {
    response.writeHead(code, { 'content-type': type }).end(request.method === 'HEAD' ? undefined : text);
  };
  if (request.method !== 'GET' && request.method !== 'HEAD') return respond(405, 'only GET is answered here\n');
  switch (path) {
    case '/metrics':
      return respond(200, await metrics.text(), metrics.contentType);
    case '/heartbeat':
      return respond(200, 'OK\n');
    case '/healthz':
      return respond(200, 'ok\n');
    case '/readyz':
      return store.session === 'connected' ? respond(200, 'ready\n') : respond(503, 'the metadata store cannot be reached\n');
    case '/status':
      return await respondStatus(options, respond);
    default:
      return respond(404, 'there are /metrics, /healthz, /readyz, /heartbeat and /status\n');
  }
}

async function respondStatus(
  { store, recovery }: AutoRecoveryHttpOptions,
  respond: (code: number, text: string, type?: string) => void,
): Promise<void> {
  try {
    const status = {
      auditor: await readAuditor(store),
      isAuditor: recovery.isAuditor,
      isEnabled: await recovery.tools.settings.isEnabled(),
      underReplicatedLedgers: await recovery.tools.underReplication.count(),
      workingOn: recovery.worker.workingCount,
      troubled: recovery.worker.troubled.map(({ ledgerId, rounds, reason, isGivenUp }) => ({ ledgerId, rounds, reason, isGivenUp })),
    };
    respond(200, `${JSON.stringify(status, undefined, 2)}\n`, 'application/json');
  } catch (error) {
    if (!metadataErrors.UNAVAILABLE.is(error)) throw error;
    respond(503, `${error.message}\n`);
  }
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
