import { ClientError } from './errors.js';

/** What we need of a WebSocket; the browser's own and the `ws` package both have it. */
interface PlainWebSocket {
  send(text: string): void;
  close(code?: number, reason?: string): void;
  readonly bufferedAmount: number;
  onopen: ((event: unknown) => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number; reason: string }) => void) | null;
  onerror: ((event: { message?: string; error?: unknown }) => void) | null;
}

export interface SocketListener {
  message(text: string): void;
  /** After the socket was open. */
  closed(code: number, reason: string): void;
}

export interface Socket {
  send(text: string): void;
  close(): void;
  /** Bytes handed over and not yet sent. */
  readonly bufferedBytes: number;
}

/** Opens one WebSocket. Rejects with `REFUSED` (and the HTTP status, where the platform tells it) or `UNREACHABLE`. */
export async function openSocket(url: string, token: string | undefined, listener: SocketListener): Promise<Socket> {
  const { plain, refusal } = await connect(url, token);
  return await new Promise((resolve, reject) => {
    let isOpen = false;
    plain.onopen = () => {
      isOpen = true;
      resolve({
        send: (text) => plain.send(text),
        close: () => plain.close(1000, ''),
        get bufferedBytes() {
          return plain.bufferedAmount;
        },
      });
    };
    plain.onmessage = (event) => listener.message(String(event.data));
    plain.onerror = (event) => {
      if (!isOpen) reject(refusal() ?? new ClientError('UNREACHABLE', `${url} cannot be reached: ${event.message ?? 'no connection'}`));
    };
    plain.onclose = (event) => {
      if (isOpen) listener.closed(event.code, event.reason);
      else reject(refusal() ?? new ClientError('UNREACHABLE', `${url} was closed during the handshake`));
    };
  });
}

/** In browsers the platform's WebSocket (the token travels in the query), elsewhere the `ws` package. */
async function connect(url: string, token: string | undefined): Promise<{ plain: PlainWebSocket; refusal: () => ClientError | undefined }> {
  const isBrowser = typeof (globalThis as { document?: unknown }).document === 'object';
  const platform = (globalThis as { WebSocket?: new (url: string) => PlainWebSocket }).WebSocket;
  if (isBrowser && platform !== undefined) {
    const withToken = token === undefined ? url : `${url}${url.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`;
    return { plain: new platform(withToken), refusal: () => undefined };
  }
  const { WebSocket } = await import('ws');
  const socket = new WebSocket(url, { perMessageDeflate: false, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
  let refused: ClientError | undefined;
  socket.on('unexpected-response', (_request, response) => {
    let body = '';
    response.setEncoding('utf8');
    response.on('data', (part: string) => {
      body = (body + part).slice(0, 4096);
    });
    response.on('end', () => {
      refused = new ClientError('REFUSED', `${url} was refused with ${response.statusCode}: ${plainText(body)}`, response.statusCode);
      socket.terminate();
      socket.emit('error', refused);
    });
  });
  return { plain: socket as unknown as PlainWebSocket, refusal: () => refused };
}

/** The reason inside a refusal's body: JSON `reason`, or the text of an HTML page. */
export function plainText(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null && 'reason' in parsed) return String(parsed.reason);
  } catch {
    // Not JSON: an HTML error page or plain text.
  }
  return body
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
