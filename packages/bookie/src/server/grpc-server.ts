import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import {
  type Addressed,
  type AppendReply,
  type AppendRequest,
  type BookieIdentity,
  type BookieInfoReply,
  type BookieService,
  bookieMessageBytesMax,
  bookieServiceDefinition,
  encodeReadPart,
  isSameIdentity,
  type NumberedRead,
  type ReadPart,
  type ReadRequest,
  readPartBytesMax,
} from '@daybook/proto';
import { type BudgetWaiter, type Clock, defineErrors, type Logger } from '@daybook/runtime';
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  status,
} from '@grpc/grpc-js';
import { type Admission, createAdmission, readBytesOf } from './admission.js';
import { AppendSession } from './append-session.js';
import { ReadSession } from './read-session.js';

export const bookieServerErrors = defineErrors('BOOKIE_SERVER', {
  LISTEN: {
    retry: 'never',
    text: (address: string, detail: string) => `the bookie cannot listen on ${address}: ${detail}. Choose another port, or end what uses it`,
  },
});

export interface BookieServerOptions {
  service: BookieService;
  identity: BookieIdentity;
  clock: Clock;
  logger: Logger;
  host: string;
  /** 0 takes a free one. */
  port: number;
  admission?: Admission;
  /** Unanswered bytes of one append stream at which it is not read any more. */
  appendStreamBytesMax?: number;
}

export interface BookieServer extends AsyncDisposable {
  readonly port: number;
  /** Ends all connections. May be called more than once. */
  close(): Promise<void>;
}

const windowBytes = 4 * 1024 * 1024;
/** Also of long polls, for which clients have a connection of their own; reads are bounded by {@link Admission}. */
const streamsPerConnectionMax = 1024;

/** Serves a bookie over gRPC. */
export async function startBookieServer(options: BookieServerOptions): Promise<BookieServer> {
  const admission = options.admission ?? createAdmission();
  const server = new Server({
    'grpc.max_receive_message_length': bookieMessageBytesMax,
    'grpc.max_send_message_length': bookieMessageBytesMax,
    'grpc.max_concurrent_streams': streamsPerConnectionMax,
    'grpc.enable_channelz': 0,
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 5_000,
    interceptors: [readAdmission(admission)],
  });
  server.addService(definition(), handlers(options, admission));
  const address = `${options.host.includes(':') ? `[${options.host}]` : options.host}:${options.port}`;
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(bookieServerErrors.LISTEN(address, error.message, { cause: error }));
    });
  });
  widenWindows(server, options.logger);
  const endConnections = connectionsOf(server);
  options.logger.info({ port }, 'bookie is listening');
  const close = async (): Promise<void> => {
    server.forceShutdown();
    endConnections();
  };
  return { port, close, [Symbol.asyncDispose]: close };
}

/** Parts of replies are written into the same place again and again, as gRPC copies them at once: memory is what large replies cost most. */
function definition(): typeof bookieServiceDefinition {
  const room = Buffer.alloc(readPartBytesMax);
  return {
    ...bookieServiceDefinition,
    streamedRead: { ...bookieServiceDefinition.streamedRead, responseSerialize: (part: ReadPart) => encodeReadPart(part, room) },
  };
}

/** A bug: the client learns that it got no answer, and the process that it must stop. */
function endWith(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

function handlers({ service, identity, clock, appendStreamBytesMax = 16 * 1024 * 1024 }: BookieServerOptions, admission: Admission) {
  return {
    append: (call: ServerDuplexStream<AppendRequest, AppendReply>) => {
      const session = new AppendSession({
        service,
        identity,
        clock,
        budget: admission.appends,
        bytesMax: appendStreamBytesMax,
        channel: {
          send: (reply) => call.write(reply),
          pause: () => call.pause(),
          resume: () => call.resume(),
          end: (refusal) => (refusal === undefined ? call.end() : call.emit('error', { code: status.INVALID_ARGUMENT, details: refusal })),
        },
      });
      call.on('data', (message: AppendRequest) => session.receive(message));
      call.on('drain', () => session.drained());
      call.on('end', () => call.end());
      for (const event of ['cancelled', 'close', 'error']) call.on(event, () => session.closed());
    },
    read: unary<Addressed<ReadRequest>, { code: 'UNAVAILABLE'; entries: [] }, Awaited<ReturnType<BookieService['read']>>>(
      (asked) => isSameIdentity(asked.expected, identity),
      { code: 'UNAVAILABLE', entries: [] },
      ({ request }) => service.read(request),
    ),
    streamedRead: (call: ServerDuplexStream<NumberedRead, ReadPart>) => {
      const session = new ReadSession({
        service,
        identity,
        budget: admission.reads,
        channel: {
          send: (part, sent) => call.write(part, sent),
          pause: () => call.pause(),
          resume: () => call.resume(),
        },
        onBug: (error) => {
          call.emit('error', { code: status.INTERNAL });
          endWith(error);
        },
      });
      call.on('data', (message: NumberedRead) => session.receive(message));
      call.on('end', () => call.end());
      for (const event of ['cancelled', 'close', 'error']) call.on(event, () => session.closed());
    },
    fence: unary(isMeantFor(identity), { code: 'UNAVAILABLE' as const }, ({ request }: Addressed<Parameters<BookieService['fence']>[0]>) =>
      service.fence(request),
    ),
    readLac: unary(isMeantFor(identity), { code: 'UNAVAILABLE' as const }, ({ request }: Addressed<Parameters<BookieService['readLac']>[0]>) =>
      service.readLac(request),
    ),
    awaitLac: unary(
      isMeantFor(identity),
      { code: 'UNAVAILABLE' as const },
      ({ request }: Addressed<Parameters<BookieService['awaitLac']>[0]>, stop: AbortSignal) => service.awaitLac(request, stop),
    ),
    writeLac: unary(isMeantFor(identity), { code: 'UNAVAILABLE' as const }, ({ request }: Addressed<Parameters<BookieService['writeLac']>[0]>) =>
      service.writeLac(request),
    ),
    force: unary(isMeantFor(identity), { code: 'UNAVAILABLE' as const }, ({ request }: Addressed<Parameters<BookieService['force']>[0]>) =>
      service.force(request),
    ),
    listEntries: unary(
      isMeantFor(identity),
      { code: 'UNAVAILABLE' as const, runs: [] },
      ({ request }: Addressed<Parameters<BookieService['listEntries']>[0]>) => service.listEntries(request),
    ),
    info: unary<BookieIdentity, BookieInfoReply, BookieInfoReply>(
      (expected) => isSameIdentity(expected, identity),
      { code: 'UNAVAILABLE', totalBytes: 0, freeBytes: 0 },
      () => service.info(),
    ),
  };
}

function isMeantFor(identity: BookieIdentity): (asked: Addressed<unknown>) => boolean {
  return ({ expected }) => isSameIdentity(expected, identity);
}

/** A request meant for other disks is answered without a look at these (P6). `stop` aborts when nobody waits for the answer any more. */
function unary<Request, Refusal extends Reply, Reply>(
  isMeant: (request: Request) => boolean,
  refusal: Refusal,
  answer: (request: Request, stop: AbortSignal) => Promise<Reply>,
): handleUnaryCall<Request, Reply> {
  return (call, callback) => {
    if (!isMeant(call.request)) return callback(null, refusal);
    answer(call.request, cancelled(call, answer.length)).then(
      (reply) => callback(null, reply),
      (error: unknown) => {
        callback({ code: status.INTERNAL });
        endWith(error);
      },
    );
  };
}

const neverStops = new AbortController().signal;

/** Made only for those who ask for it. */
function cancelled(call: { on(event: 'cancelled', task: () => void): unknown }, argumentsCount: number): AbortSignal {
  if (argumentsCount < 2) return neverStops;
  const stop = new AbortController();
  call.on('cancelled', () => stop.abort());
  return stop.signal;
}

/** Reads wait until there is room for their replies, and give it back when the reply was handed to the system, or the client gave up. */
function readAdmission({ reads }: Admission): ServerInterceptor {
  return (method, call) => {
    if (method.path !== bookieServiceDefinition.read.path) return new ServerInterceptingCall(call);
    let takenBytes = 0;
    let waiter: BudgetWaiter | undefined;
    const release = (): void => {
      waiter?.cancel();
      reads.release(takenBytes);
      takenBytes = 0;
    };
    const listener = new ServerListenerBuilder()
      .withOnReceiveMessage((message: Addressed<ReadRequest>, next) => {
        const bytes = readBytesOf(message.request, reads);
        waiter = reads.acquireThen(bytes, () => {
          takenBytes = bytes;
          next(message);
        });
      })
      .withOnCancel(release)
      .build();
    return new ServerInterceptingCall(call, {
      start: (next) => next(listener),
      sendStatus: (outcome, next) => {
        release();
        next(outcome);
      },
    });
  };
}

/**
 * Wide HTTP/2 windows for what clients send: 1.4-2.7 times the throughput of large batches. grpc-js has no setting for it on the server's side, so this
 * reaches for its HTTP/2 servers; should a later version hide them better, only speed is lost.
 */
function widenWindows(server: Server, logger: Logger): void {
  const { http2Servers } = server as unknown as { http2Servers?: Map<Http2Server, unknown> };
  if (http2Servers === undefined) {
    logger.warn({}, 'this version of grpc-js does not let its receive window be widened: large batches are slower');
    return;
  }
  for (const http2Server of http2Servers.keys()) {
    http2Server.on('session', (session: ServerHttp2Session) => {
      session.setLocalWindowSize(windowBytes);
      session.settings({ initialWindowSize: windowBytes });
    });
  }
}

/** Ends all connections. A shutdown alone leaves those open whose other side does not end them too, and the process alive with them. */
function connectionsOf(server: Server): () => void {
  const { http2Servers } = server as unknown as { http2Servers?: Map<Http2Server, unknown> };
  const sockets = new Set<Socket>();
  for (const http2Server of http2Servers?.keys() ?? []) {
    http2Server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
  }
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}
