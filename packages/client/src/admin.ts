import { ClientError } from './errors.js';
import { plainText } from './socket.js';

/** Typed calls to the REST API (`/admin/v2`). Topics are given by any accepted name: `topic`, `tenant/namespace/topic`, `persistent://...`. */
export class AdminClient {
  readonly #base: string;
  readonly #token: string | undefined;

  constructor(base: string, token?: string) {
    this.#base = base.replace(/\/+$/, '');
    this.#token = token;
  }

  /** Any call, `path` beginning with `/`; resolves to the parsed JSON, to text, or to undefined for an empty answer. Rejects with `REFUSED` and the server's reason. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const headers: Record<string, string> = {};
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (this.#token !== undefined) headers.authorization = `Bearer ${this.#token}`;
    let response: Response;
    try {
      response = await fetch(this.#base + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    } catch (error) {
      throw new ClientError('UNREACHABLE', `${this.#base} cannot be reached: is a broker running there? (${causeOf(error)})`);
    }
    const text = await response.text();
    if (!response.ok) throw new ClientError('REFUSED', plainText(text) || response.statusText, response.status);
    if (text === '') return undefined;
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }

  async get(path: string): Promise<unknown> {
    return await this.call('GET', `/admin/v2/${path}`);
  }
  async put(path: string, body?: unknown): Promise<unknown> {
    return await this.call('PUT', `/admin/v2/${path}`, body);
  }
  async post(path: string, body?: unknown): Promise<unknown> {
    return await this.call('POST', `/admin/v2/${path}`, body);
  }
  async delete(path: string): Promise<unknown> {
    return await this.call('DELETE', `/admin/v2/${path}`);
  }
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? ((error.cause as Error | undefined) ?? error) : error;
  return cause instanceof Error ? cause.message || String((cause as { code?: string }).code) : String(cause);
}
