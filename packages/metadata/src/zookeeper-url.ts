import { clusterErrors } from './errors.js';
import { checkPath } from './metadata-path.js';

export interface ZooKeeperAddress {
  /** `host:port[,host:port]`, ports filled in. */
  servers: string;
  /** Where our tree begins: empty, or a path without a slash at its end. */
  root: string;
}

const defaultPort = 2181;

/** `zk://host:port[,host:port]/path`. */
export function parseZooKeeperUrl(url: string): ZooKeeperAddress {
  const rest = url.startsWith('zk://') ? url.slice('zk://'.length) : undefined;
  if (rest === undefined) throw clusterErrors.BAD_METADATA_URL(url, 'it does not begin with zk://');
  const slash = rest.indexOf('/');
  const hosts = (slash < 0 ? rest : rest.slice(0, slash)).split(',');
  const root = slash < 0 ? '' : rest.slice(slash).replace(/\/+$/, '');
  try {
    if (root !== '') checkPath(root);
  } catch (cause) {
    throw clusterErrors.BAD_METADATA_URL(url, `"${root}" is not a path`, { cause });
  }
  return { servers: hosts.map((host) => checkHost(url, host)).join(','), root };
}

function checkHost(url: string, text: string): string {
  const match = /^([A-Za-z0-9._-]+)(?::(\d{1,5}))?$/.exec(text);
  if (match === null) throw clusterErrors.BAD_METADATA_URL(url, `"${text}" is not host:port (IPv6 addresses need a host name)`);
  const port = Number(match[2] ?? defaultPort);
  if (port < 1 || port > 65_535) throw clusterErrors.BAD_METADATA_URL(url, `${port} is not a port`);
  return `${match[1]}:${port}`;
}
