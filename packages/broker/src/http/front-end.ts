import type { AddressInfo } from 'node:net';
import type { Clock, Logger, Metrics, Random } from '@daybook/runtime';
import type { BrokerApi } from '../broker-api.js';
import { webSocketLimits } from '../websocket/limits.js';
import { WebSocketFrontEnd } from '../websocket/websocket-front-end.js';
import { Forwarder } from './forward.js';
import { Router } from './router.js';
import { addBookieRoutes } from './routes/bookies.js';
import { addBrokerRoutes, addMetricsRoute } from './routes/brokers.js';
import { addClusterRoutes } from './routes/clusters.js';
import { addLaterFeatures } from './routes/later-features.js';
import { addLookupRoutes } from './routes/lookup.js';
import { addNamespaceRoutes } from './routes/namespaces.js';
import { addSubscriptionRoutes } from './routes/subscriptions.js';
import { addTenantRoutes } from './routes/tenants.js';
import { addTopicRoutes } from './routes/topics.js';
import { createHttpServer } from './server.js';

export interface FrontEndLimits {
  /** Decoded payload of one message; Pulsar's `maxMessageSize`. */
  messageBytesMax: number;
  /** Body of one REST call. */
  bodyBytesMax: number;
}

export const frontEndLimitsDefault: FrontEndLimits = { messageBytesMax: 5 * 1024 * 1024, bodyBytesMax: 1024 * 1024 };

export interface FrontEndOptions {
  broker: BrokerApi;
  clock: Clock;
  random: Random;
  logger: Logger;
  metrics?: Metrics | undefined;
  host: string;
  /** 0: a free one. */
  port: number;
  limits?: Partial<FrontEndLimits> | undefined;
}

export interface FrontEnd {
  /** `host:port` as bound. */
  readonly address: string;
  readonly port: number;
  /** Open WebSockets. */
  readonly sessionsCount: number;
  /** No new connections; sockets get a legal close (1001); resolves when all are gone. Idempotent. */
  close(): Promise<void>;
}

const closeGraceMs = 2000;

/** REST and WebSocket on one port. */
export async function startFrontEnd(options: FrontEndOptions): Promise<FrontEnd> {
  const { broker, clock, random, logger } = options;
  const limits = { ...frontEndLimitsDefault, ...options.limits };
  const forwarder = new Forwarder(broker.brokerId);
  const webSockets = new WebSocketFrontEnd({ broker, clock, random, logger, forwarder, limits: webSocketLimits(limits.messageBytesMax) });
  const app = createHttpServer({
    router: makeRouter({ broker, clock, forwarder }, options.metrics),
    random,
    logger,
    bodyBytesMax: limits.bodyBytesMax,
    upgrade: (request, socket, head) => webSockets.upgrade(request, socket, head),
  });
  await app.listen({ host: options.host, port: options.port });
  const { address, port } = app.server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = async () => {
    const closed = app.close();
    await webSockets.close(closeGraceMs);
    forwarder.close();
    const force = clock.after(closeGraceMs, () => app.server.closeAllConnections());
    await closed;
    force.cancel();
  };
  return {
    address: address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`,
    port,
    get sessionsCount() {
      return webSockets.sessionsCount;
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function makeRouter(context: { broker: BrokerApi; clock: Clock; forwarder: Forwarder }, metrics: Metrics | undefined): Router {
  const router = new Router();
  addClusterRoutes(router, context);
  addTenantRoutes(router, context);
  addNamespaceRoutes(router, context);
  addSubscriptionRoutes(router, context);
  addTopicRoutes(router, context);
  addBrokerRoutes(router, context);
  addBookieRoutes(router, context);
  addLookupRoutes(router, context);
  addMetricsRoute(router, metrics);
  addLaterFeatures(router);
  return router;
}
