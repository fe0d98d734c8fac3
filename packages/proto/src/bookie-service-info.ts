import { decoding, Malformed, protoErrors } from './errors.js';
import { WireReader } from './wire/reader.js';
import { WireWriter } from './wire/writer.js';

/** One way to reach a bookie. */
export interface BookieEndpoint {
  /** What it is for: `bookie` (entries), `httpserver`; Daybook's own gRPC service has an id of its own, so that BookKeeper clients do not try it. */
  readonly id: string;
  readonly port: number;
  readonly host: string;
  /** `bookie-rpc`, `http`, ... */
  readonly protocol: string;
  readonly auth: readonly string[];
  readonly extensions: readonly string[];
}

/** What a bookie registers about itself: BookKeeper's BookieServiceInfoFormat. An empty record (old bookies) has nothing in it. */
export interface BookieServiceInfo {
  readonly endpoints: readonly BookieEndpoint[];
  readonly properties: ReadonlyMap<string, string>;
}

/** `endpoints 6 *{id 1, port 2, host 3, protocol 4, auth 5 *, extensions 6 *}, properties 7 *{key 1, value 2}`. */
export function encodeBookieServiceInfo(info: BookieServiceInfo): Buffer {
  const writer = new WireWriter();
  for (const { id, port, host, protocol, auth, extensions } of info.endpoints) {
    const endpoint = new WireWriter().string(1, id).int(2, port).string(3, host).string(4, protocol);
    for (const name of auth) endpoint.string(5, name);
    for (const name of extensions) endpoint.string(6, name);
    writer.message(6, endpoint);
  }
  for (const [key, value] of info.properties) writer.message(7, new WireWriter().string(1, key).string(2, value));
  return writer.finish();
}

/** Throws `PROTO_SERVICE_INFO_MALFORMED`. */
export function decodeBookieServiceInfo(bytes: Uint8Array): BookieServiceInfo {
  return decoding(protoErrors.SERVICE_INFO_MALFORMED, () => {
    const reader = new WireReader(bytes);
    const endpoints: BookieEndpoint[] = [];
    const properties = new Map<string, string>();
    while (reader.next()) {
      if (reader.field === 6) endpoints.push(readEndpoint(reader.message()));
      else if (reader.field === 7) readProperty(reader.message(), properties);
      else reader.skip();
    }
    return { endpoints, properties };
  });
}

function readEndpoint(reader: WireReader): BookieEndpoint {
  const endpoint = { id: '', port: -1, host: '', protocol: '', auth: [] as string[], extensions: [] as string[] };
  while (reader.next()) {
    if (reader.field === 1) endpoint.id = reader.string();
    else if (reader.field === 2) endpoint.port = reader.int32();
    else if (reader.field === 3) endpoint.host = reader.string();
    else if (reader.field === 4) endpoint.protocol = reader.string();
    else if (reader.field === 5) endpoint.auth.push(reader.string());
    else if (reader.field === 6) endpoint.extensions.push(reader.string());
    else reader.skip();
  }
  if (endpoint.id === '' || endpoint.host === '' || endpoint.protocol === '' || endpoint.port < 0 || endpoint.port > 65_535) {
    throw new Malformed('an endpoint is not complete');
  }
  return endpoint;
}

function readProperty(reader: WireReader, into: Map<string, string>): void {
  let key: string | undefined;
  let value = '';
  while (reader.next()) {
    if (reader.field === 1) key = reader.string();
    else if (reader.field === 2) value = reader.string();
    else reader.skip();
  }
  if (key === undefined) throw new Malformed('a property has no key');
  into.set(key, value);
}
