import { type BookieEndpoint, type BookieId, decodeBookieServiceInfo, encodeBookieServiceInfo } from '@daybook/proto';
import type { RegisteredBookie } from './bookie-registry.js';

/** BookKeeper's name for a bookie's HTTP service. */
const httpEndpoint = { id: 'httpserver', protocol: 'http' };
/** Our own name: BookKeeper's clients look for `bookie-rpc` and must not try to speak it to us. */
const grpcEndpoint = { id: 'daybook-bookie', protocol: 'daybook-grpc' };
const incarnationProperty = 'daybook.incarnation';

/** What a bookie writes at its ephemeral key: BookKeeper's BookieServiceInfo, with our endpoint and the incarnation as a property. */
export function encodeBookieRecord(bookie: RegisteredBookie): Buffer {
  const endpoints: BookieEndpoint[] = [];
  if (bookie.httpAddress !== '') endpoints.push(endpointOf(httpEndpoint, bookie.httpAddress));
  if (bookie.address !== '') endpoints.push(endpointOf(grpcEndpoint, bookie.address));
  return encodeBookieServiceInfo({ endpoints, properties: new Map([[incarnationProperty, bookie.incarnation]]) });
}

/** Undefined for a bookie that is not one of ours (BookKeeper's own). Throws `PROTO_SERVICE_INFO_MALFORMED`. */
export function decodeBookieRecord(bookieId: BookieId, bytes: Uint8Array, isWritable: boolean): RegisteredBookie | undefined {
  const { endpoints, properties } = decodeBookieServiceInfo(bytes);
  const incarnation = properties.get(incarnationProperty);
  if (incarnation === undefined) return undefined;
  const address = (id: string) => {
    const endpoint = endpoints.find((each) => each.id === id);
    return endpoint === undefined ? '' : `${endpoint.host}:${endpoint.port}`;
  };
  return { bookieId, address: address(grpcEndpoint.id), httpAddress: address(httpEndpoint.id), incarnation, isWritable };
}

function endpointOf(kind: { id: string; protocol: string }, address: string): BookieEndpoint {
  const colon = address.lastIndexOf(':');
  return { ...kind, host: address.slice(0, colon), port: Number(address.slice(colon + 1)), auth: [], extensions: [] };
}

/** A bookie in this process: reached by direct calls, without addresses. */
export function inProcessBookie(bookieId: BookieId, incarnation: string): RegisteredBookie {
  return { bookieId, address: '', httpAddress: '', incarnation, isWritable: true };
}
