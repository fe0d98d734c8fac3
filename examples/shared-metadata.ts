/**
 * Metadata in memory for several processes of one example, in place of ZooKeeper: one JSON line per request, answer and event. A session lasts as long as its
 * connection, so the ephemeral keys of a process that was killed go at once. For examples alone: nothing of it survives the process that serves it.
 */
import { createServer, connect as dial, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import {
  type Expected,
  type MetadataStore,
  metadataErrors,
  type PutOptions,
  type PutResult,
  type SessionState,
  type Versioned,
  type Watch,
} from '@daybook/metadata';
import { errorCode } from '@daybook/runtime';

type Request =
  | { id: number; call: 'get' | 'children' | 'watch'; path: string }
  | { id: number; call: 'put'; path: string; value: string; expected: Expected; options: PutOptions }
  | { id: number; call: 'delete'; path: string; expected: number | 'any' };

type Answer = { id: number; result: unknown } | { id: number; code: string; text: string } | { changed: string };

export interface SharedMetadataServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves a store; each connection gets a session of its own. */
export async function shareMetadata(openSession: () => MetadataStore): Promise<SharedMetadataServer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    // A peer that talks nonsense is cut off.
    const ended = () => sockets.delete(socket.destroy());
    serve(socket, openSession()).then(ended, ended);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `tcp://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

async function serve(socket: Socket, session: MetadataStore): Promise<void> {
  const send = (answer: Answer) => void (socket.writable && socket.write(`${JSON.stringify(answer)}\n`));
  const answer = async (request: Request) => {
    try {
      send({ id: request.id, result: await perform(session, request, send) });
    } catch (error) {
      send({ id: request.id, code: errorCode(error) ?? '', text: String(error) });
    }
  };
  // A reset connection ends the session like any other end.
  socket.on('error', () => socket.destroy());
  for await (const line of createInterface({ input: socket })) void answer(JSON.parse(line) as Request);
  await session.close();
}

async function perform(session: MetadataStore, request: Request, send: (answer: Answer) => void): Promise<unknown> {
  const { path } = request;
  switch (request.call) {
    case 'get': {
      const found = await session.get(path);
      return found && { ...found, value: found.value.toString('base64') };
    }
    case 'children':
      return session.children(path);
    case 'watch':
      session.watch(path, () => send({ changed: path }));
      return undefined;
    case 'put':
      return session.put(path, Buffer.from(request.value, 'base64'), request.expected, request.options);
    case 'delete':
      return session.delete(path, request.expected);
  }
}

export async function connectSharedMetadata(url: string): Promise<MetadataStore> {
  const { hostname, port } = new URL(url);
  const socket = dial(Number(port), hostname);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return new SharedMetadataStore(socket);
}

const errors = [
  metadataErrors.EXISTS,
  metadataErrors.NOT_FOUND,
  metadataErrors.BAD_VERSION,
  metadataErrors.NOT_EMPTY,
  metadataErrors.BAD_PATH,
  metadataErrors.UNAVAILABLE,
];

class SharedMetadataStore implements MetadataStore {
  /** A session ends with its connection. */
  readonly sessionTimeoutMs = 0;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>();
  readonly #watches = new Map<string, Set<() => void>>();
  readonly #sessionListeners = new Set<(state: SessionState) => void>();
  #lastId = 0;
  #session: SessionState = 'connected';

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('close', () => this.#end('lost'));
    createInterface({ input: socket }).on('line', (line) => this.#receive(JSON.parse(line) as Answer));
  }

  get session(): SessionState {
    return this.#session;
  }

  async get(path: string): Promise<Versioned | undefined> {
    const found = await this.#ask<(Omit<Versioned, 'value'> & { value: string }) | undefined>({ call: 'get', path });
    return found && { ...found, value: Buffer.from(found.value, 'base64') };
  }

  put(path: string, value: Uint8Array, expected: Expected, options: PutOptions = {}): Promise<PutResult> {
    return this.#ask({ call: 'put', path, value: Buffer.from(value).toString('base64'), expected, options });
  }

  delete(path: string, expected: number | 'any'): Promise<void> {
    return this.#ask({ call: 'delete', path, expected });
  }

  children(path: string): Promise<string[]> {
    return this.#ask({ call: 'children', path });
  }

  watch(path: string, listener: () => void): Watch {
    let listeners = this.#watches.get(path);
    if (listeners === undefined) {
      listeners = new Set();
      this.#watches.set(path, listeners);
      this.#ask({ call: 'watch', path }).catch(() => undefined);
    }
    const own = () => listener();
    listeners.add(own);
    return { stop: () => void listeners.delete(own) };
  }

  onSession(listener: (state: SessionState) => void): Watch {
    this.#sessionListeners.add(listener);
    return { stop: () => void this.#sessionListeners.delete(listener) };
  }

  async close(): Promise<void> {
    this.#end('closed');
    this.#socket.destroy();
  }

  #ask<T>(request: object): Promise<T> {
    if (this.#session !== 'connected') return Promise.reject(metadataErrors.UNAVAILABLE('the example cluster has gone'));
    const id = ++this.#lastId;
    this.#socket.write(`${JSON.stringify({ id, ...request })}\n`);
    return new Promise<T>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #receive(answer: Answer): void {
    if ('changed' in answer) {
      for (const listener of [...(this.#watches.get(answer.changed) ?? [])]) listener();
      return;
    }
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ('result' in answer || !('code' in answer)) waiting?.resolve((answer as { result?: unknown }).result as never);
    else waiting?.reject(errorOf(answer.code, answer.text));
  }

  #end(state: SessionState): void {
    if (this.#session !== 'connected') return;
    this.#session = state;
    for (const { reject } of this.#waiting.values()) reject(metadataErrors.UNAVAILABLE('the connection to the example cluster has ended'));
    this.#waiting.clear();
    for (const listener of [...this.#sessionListeners]) listener(state);
  }
}

function errorOf(code: string, text: string): Error {
  return errors.find((kind) => kind.code === code)?.(text) ?? metadataErrors.UNAVAILABLE(text);
}
