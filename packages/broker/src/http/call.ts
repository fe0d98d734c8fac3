import type { IncomingHttpHeaders } from 'node:http';
import type { TopicName } from '@daybook/proto';
import { Refused } from './answer.js';
import { type JsonValue, parseJsonBody } from './json-body.js';
import { isEntityName, nameFaultText, topicNameOf } from './names.js';

export interface CallParts {
  method: string;
  /** Path and query as they came. */
  url: string;
  segments: readonly string[];
  parameters: ReadonlyMap<string, string>;
  query: ReadonlyMap<string, string>;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** One REST call on its way through a route. What the client got wrong is thrown as {@link Refused}. */
export class Call {
  readonly method: string;
  readonly url: string;
  readonly segments: readonly string[];
  readonly query: ReadonlyMap<string, string>;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly #parameters: ReadonlyMap<string, string>;

  constructor(parts: CallParts) {
    this.method = parts.method;
    this.url = parts.url;
    this.segments = parts.segments;
    this.query = parts.query;
    this.headers = parts.headers;
    this.body = parts.body;
    this.#parameters = parts.parameters;
  }

  /** A named part of the path, decoded. */
  parameter(name: string): string {
    return this.#parameters.get(name) ?? '';
  }

  flag(name: string): boolean {
    return this.query.get(name)?.toLowerCase() === 'true';
  }

  /** The body as JSON (64-bit integers as bigint); undefined when there is none. */
  json(): JsonValue | undefined {
    return parseJsonBody(this.headers['content-type'], this.body);
  }

  cluster(): string {
    return this.#entity('cluster', 'Cluster name is not valid');
  }

  tenant(): string {
    return this.#entity('tenant', 'Tenant name is not valid');
  }

  /** `tenant/namespace`. */
  namespaceName(): string {
    const tenant = this.tenant();
    return `${tenant}/${this.#entity('namespace', 'Namespace name is not valid')}`;
  }

  topic(domain: string): TopicName {
    const name = topicNameOf(domain, this.parameter('tenant'), this.parameter('namespace'), this.parameter('topic'));
    if (typeof name !== 'string') return name;
    throw new Refused(name === 'slash' ? 400 : name === 'domain' ? 404 : 412, nameFaultText(name));
  }

  #entity(parameter: string, fault: string): string {
    const name = this.parameter(parameter);
    if (!isEntityName(name)) throw new Refused(412, fault);
    return name;
  }
}
