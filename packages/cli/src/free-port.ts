import { createServer } from 'node:net';

/** The port asked for, or a free one for 0: some parts must know it before they listen. */
export async function chosenPort(host: string, port: number): Promise<number> {
  if (port !== 0) return port;
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, host, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** `host:port` as others can use it: a host that means "all addresses" becomes the loopback one. */
export function reachable(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' || host === '' ? '127.0.0.1' : host;
  return `${name.includes(':') ? `[${name}]` : name}:${port}`;
}
