import { createServer } from 'node:net';
import { cliErrors } from './errors.js';

/**
 * The port asked for, or a free one for 0: some parts must know it before they listen. A port that is taken is refused here, before anything is opened.
 */
export async function chosenPort(host: string, port: number): Promise<number> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(cliErrors.CANNOT_LISTEN(`${host}:${port}`, listenProblem(error), { cause: error }));
    });
    server.listen(port, host, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port));
    });
  });
}

function listenProblem(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'the port is in use';
    case 'EACCES':
      return 'this user may not use that port';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'this machine has no such address';
    default:
      return error.message;
  }
}

/** `host:port` as others can use it: a host that means "all addresses" becomes the loopback one. */
export function reachable(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' || host === '' ? '127.0.0.1' : host;
  return `${name.includes(':') ? `[${name}]` : name}:${port}`;
}
