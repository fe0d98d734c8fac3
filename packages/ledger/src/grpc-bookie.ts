import type { RegisteredBookie } from '@daybook/metadata';
import {
  type Addressed,
  type AppendBatch,
  type AwaitLacReply,
  type AwaitLacRequest,
  type BookieCode,
  type BookieId,
  type BookieIdentity,
  type BookieInfoReply,
  type BookieMethod,
  type BookieService,
  bookieMessageBytesMax,
  bookieServiceDefinition,
  type CodeReply,
  type FenceRequest,
  type ForceRequest,
  type LacReply,
  type LedgerId,
  type ListEntriesReply,
  type ReadReply,
  type ReadRequest,
  type WriteLacRequest,
} from '@daybook/proto';
import type { Clock } from '@daybook/runtime';
import { type ChannelOptions, Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { AppendStream, type AppendTransport, type AppendTransportEvents } from './append-stream.js';
import type { BookieConnection } from './bookie-pool.js';
import { ReadStream, type ReadTransport, type ReadTransportEvents } from './read-stream.js';

export interface GrpcBookieOptions {
  clock: Clock;
  /** Unanswered appends to one bookie, all ledgers together. Default 64 MiB. */
  outstandingBytesMax?: number;
  /** Default 5,000. */
  appendTimeoutMs?: number;
  /** Of reads, fences and the rest. Default 5,000. */
  requestTimeoutMs?: number;
}

const channelOptions: ChannelOptions = {
  'grpc.max_receive_message_length': bookieMessageBytesMax,
  'grpc.max_send_message_length': bookieMessageBytesMax,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.service_config_disable_resolution': 1,
  // One connection per pool, so that closing one pool's never touches another's.
  'grpc.use_local_subchannel_pool': 1,
  // The default of 120 s would keep a restarted bookie away for minutes.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2_000,
  // Finds out about a peer that vanished without a word.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc-node.flow_control_window': 4 * 1024 * 1024,
};

/** Long polls over one connection; a bookie takes a few more. */
const waitingCountMax = 1_000;

interface Via {
  readonly client: Client;
  readonly timeoutMs: number;
  readonly stop: AbortSignal | undefined;
}

function newClient(address: string): Client {
  return new Client(address, credentials.createInsecure(), channelOptions);
}

/** A connection to a bookie in another process. It says in each request which disks it means, so a stranger at the address refuses (P6). */
export function connectGrpcBookie(bookie: RegisteredBookie, options: GrpcBookieOptions): BookieConnection {
  const service = new GrpcBookie(bookie, options);
  return { service, close: () => service.close() };
}

class GrpcBookie implements BookieService {
  readonly bookieId: BookieId;
  readonly #clock: Clock;
  readonly #expected: BookieIdentity;
  readonly #address: string;
  readonly #client: Client;
  /** Of those who wait for a last-add-confirmed; made when somebody does. */
  #waitingClient: Client | undefined;
  #waitingCount = 0;
  readonly #appends: AppendStream;
  readonly #reads: ReadStream;
  /** The bookie is of a version without a stream for reads. */
  #isReadAlone = false;
  readonly #requestTimeoutMs: number;

  constructor(bookie: RegisteredBookie, options: GrpcBookieOptions) {
    this.bookieId = bookie.bookieId;
    this.#clock = options.clock;
    this.#expected = { bookieId: bookie.bookieId, incarnation: bookie.incarnation };
    this.#address = bookie.address;
    this.#client = newClient(bookie.address);
    this.#requestTimeoutMs = options.requestTimeoutMs ?? 5_000;
    this.#appends = new AppendStream({
      clock: options.clock,
      expected: this.#expected,
      open: (events) => this.#openAppends(events),
      outstandingBytesMax: options.outstandingBytesMax ?? 64 * 1024 * 1024,
      timeoutMs: options.appendTimeoutMs ?? 5_000,
    });
    this.#reads = new ReadStream({
      clock: options.clock,
      expected: this.#expected,
      open: (events) => this.#openReads(events),
      timeoutMs: this.#requestTimeoutMs,
    });
  }

  append(batch: AppendBatch, done: (code: BookieCode) => void): void {
    this.#appends.append(batch, done);
  }

  async read(request: ReadRequest): Promise<ReadReply> {
    if (!this.#isReadAlone) {
      const reply = await this.#reads.read(request);
      if (reply !== 'NOT_KNOWN') return reply;
      this.#isReadAlone = true;
    }
    return this.#call(bookieServiceDefinition.read, this.#addressed(request), (code) => ({ code, entries: [] }));
  }

  fence(request: FenceRequest): Promise<LacReply> {
    return this.#call(bookieServiceDefinition.fence, this.#addressed(request), (code) => ({ code }));
  }

  readLac(ledgerId: LedgerId): Promise<LacReply> {
    return this.#call(bookieServiceDefinition.readLac, this.#addressed(ledgerId), (code) => ({ code }));
  }

  /** Over a connection of its own, so that those who wait never stand in the way of reads; beyond what one connection takes they have to ask again later. */
  async awaitLac(request: AwaitLacRequest, stop?: AbortSignal): Promise<AwaitLacReply> {
    if (this.#waitingCount >= waitingCountMax) return { code: 'TOO_MANY_REQUESTS' };
    this.#waitingCount++;
    try {
      this.#waitingClient ??= newClient(this.#address);
      const via = { client: this.#waitingClient, timeoutMs: request.timeoutMs + this.#requestTimeoutMs, stop };
      return await this.#call<Addressed<AwaitLacRequest>, AwaitLacReply>(
        bookieServiceDefinition.awaitLac,
        this.#addressed(request),
        (code) => ({ code }),
        via,
      );
    } finally {
      this.#waitingCount--;
    }
  }

  writeLac(request: WriteLacRequest): Promise<CodeReply> {
    return this.#call(bookieServiceDefinition.writeLac, this.#addressed(request), (code) => ({ code }));
  }

  force(request: ForceRequest): Promise<CodeReply> {
    return this.#call(bookieServiceDefinition.force, this.#addressed(request), (code) => ({ code }));
  }

  listEntries(ledgerId: LedgerId): Promise<ListEntriesReply> {
    return this.#call(bookieServiceDefinition.listEntries, this.#addressed(ledgerId), (code) => ({ code, runs: [] }));
  }

  info(): Promise<BookieInfoReply> {
    return this.#call(bookieServiceDefinition.info, this.#expected, (code) => ({ code, totalBytes: 0, freeBytes: 0 }));
  }

  close(): void {
    this.#appends.close();
    this.#reads.close();
    this.#client.close();
    this.#waitingClient?.close();
  }

  #addressed<Request>(request: Request): Addressed<Request> {
    return { expected: this.#expected, request };
  }

  #call<Request, Reply>(
    method: BookieMethod<Request, Reply>,
    request: Request,
    failed: (code: BookieCode) => Reply,
    { client, timeoutMs, stop }: Via = { client: this.#client, timeoutMs: this.#requestTimeoutMs, stop: undefined },
  ): Promise<Reply> {
    return new Promise((resolve) => {
      const deadline = this.#clock.wallMs() + timeoutMs;
      try {
        const { path, requestSerialize, responseDeserialize } = method;
        const call = client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, (error, reply) => {
          stop?.removeEventListener('abort', cancel);
          resolve(error === null && reply !== undefined ? reply : failed(codeOf(error)));
        });
        const cancel = () => call.cancel();
        stop?.addEventListener('abort', cancel, { once: true });
        if (stop?.aborted) cancel();
      } catch {
        resolve(failed('UNAVAILABLE')); // The client was closed.
      }
    });
  }

  #openAppends(events: AppendTransportEvents): AppendTransport {
    const { path, requestSerialize, responseDeserialize } = bookieServiceDefinition.append;
    const call = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    call.on('data', events.reply);
    call.on('drain', events.drained);
    call.on('error', events.ended);
    call.on('end', events.ended);
    return {
      write: (request) => call.write(request),
      cancel: () => call.cancel(),
    };
  }

  #openReads(events: ReadTransportEvents): ReadTransport {
    const { path, requestSerialize, responseDeserialize } = bookieServiceDefinition.streamedRead;
    const call = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    call.on('data', events.part);
    call.on('error', (error: ServiceError) => events.ended(error.code === status.UNIMPLEMENTED ? 'NOT_KNOWN' : codeOf(error)));
    call.on('end', () => events.ended('UNAVAILABLE'));
    return {
      write: (request) => void call.write(request),
      cancel: () => call.cancel(),
    };
  }
}

/** None of these is a negative: what failed on the way is unknown (R4). */
function codeOf(error: ServiceError | null): BookieCode {
  switch (error?.code) {
    case status.UNAVAILABLE:
    case status.CANCELLED:
      return 'UNAVAILABLE';
    case status.DEADLINE_EXCEEDED:
      return 'TIMEOUT';
    case status.RESOURCE_EXHAUSTED:
      return 'TOO_MANY_REQUESTS';
    case status.INVALID_ARGUMENT:
    case status.UNIMPLEMENTED:
      return 'BAD_REQUEST';
    default:
      return 'IO_ERROR';
  }
}
