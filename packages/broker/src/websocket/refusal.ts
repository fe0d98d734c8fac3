import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

const hangUpMs = 2000;

/** Answers an upgrade with a status and its reason, and ends the connection. */
export function refuseUpgrade(socket: Socket, status: number, reason: string): void {
  if (socket.destroyed) return;
  const body = JSON.stringify({ reason });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}\r\n` +
      'Connection: close\r\nContent-Type: application/json\r\n' +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  // What a client still sends is read and dropped, so that the answer reaches it; one that does not hang up is cut.
  socket.resume();
  socket.setTimeout(hangUpMs, () => socket.destroy());
}
