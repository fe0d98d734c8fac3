import { errorCode } from '@daybook/runtime';
import { chosenPort } from '../free-port.js';
import type { ClusterFolder } from './cluster-folder.js';
import type { ClusterPorts } from './cluster-plan.js';

export interface PortRequest {
  host: string;
  bookiesCount: number;
  brokersCount: number;
  /** 0: free ones. */
  firstBrokerPort: number;
}

/** Brokers get the ports asked for or fail; all others the ports of the last run in this folder where these are free, else any free ones. */
export async function choosePorts(folder: ClusterFolder, request: PortRequest): Promise<ClusterPorts> {
  const { host } = request;
  const before = folder.readPorts();
  const chosen: Record<string, number> = {};
  const taken = new Set<number>();
  const choose = async (name: string, at: string): Promise<number> => {
    let port = await sameAgain(at, before[name]);
    while (port === undefined || taken.has(port)) port = await chosenPort(at, 0);
    taken.add(port);
    chosen[name] = port;
    return port;
  };
  const brokers: number[] = [];
  for (let index = 0; index < request.brokersCount; index++) {
    if (request.firstBrokerPort === 0) brokers.push(await choose(`broker-${index + 1}`, host));
    else {
      brokers.push(await chosenPort(host, request.firstBrokerPort + index));
      taken.add(request.firstBrokerPort + index);
    }
  }
  const zookeeper = await choose('zookeeper', '127.0.0.1');
  const bookies: { grpc: number; http: number }[] = [];
  for (let index = 1; index <= request.bookiesCount; index++) {
    bookies.push({ grpc: await choose(`bookie-${index}`, host), http: await choose(`bookie-${index}-http`, host) });
  }
  folder.writePorts({ ...before, ...chosen });
  return { zookeeper, bookies, brokers };
}

async function sameAgain(host: string, port: number | undefined): Promise<number | undefined> {
  if (port === undefined) return undefined;
  try {
    return await chosenPort(host, port);
  } catch (error) {
    if (errorCode(error) === 'CLI_CANNOT_LISTEN') return undefined;
    throw error;
  }
}
