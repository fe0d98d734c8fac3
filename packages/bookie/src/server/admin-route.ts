import { parseJson } from '@daybook/proto';
import { DaybookError } from '@daybook/runtime';
import { bookieHttpErrors } from './http-errors.js';

export type AdminMethod = 'GET' | 'PUT' | 'DELETE';
export const adminMethods: readonly AdminMethod[] = ['GET', 'PUT', 'DELETE'];

export interface AdminRequest {
  readonly query: URLSearchParams;
  /** JSON of the body; undefined without one. */
  readonly body: unknown;
}

/** Resolves to the JSON of a 200; a `bookieHttpErrors` error chooses another status. */
export type AdminHandler = (request: AdminRequest) => unknown;

/** A path of the administration service and what may be done with it. */
export interface AdminRoute extends Partial<Record<AdminMethod, AdminHandler>> {
  readonly path: string;
}

/** The status of a failed request: BookKeeper's 403 for what was understood and is refused. */
export function statusOf(error: DaybookError): number {
  switch (error.code) {
    case bookieHttpErrors.BAD_REQUEST.code:
      return 400;
    case bookieHttpErrors.NOT_FOUND.code:
    case 'LEDGER_NOT_FOUND':
      return 404;
    case bookieHttpErrors.TOO_LARGE.code:
      return 413;
    case bookieHttpErrors.NOT_READY.code:
    case 'METADATA_UNAVAILABLE':
    case 'BOOKIE_CLOSED':
      return 503;
    default:
      return 403;
  }
}

export const bodyBytesMax = 64 * 1024;

export function parseBody(text: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return parseJson(text, { depthMax: 16, lengthMax: bodyBytesMax });
  } catch (error) {
    if (!(error instanceof DaybookError)) throw error;
    throw bookieHttpErrors.BAD_REQUEST(`the body is no JSON: ${error.message}`, { cause: error });
  }
}

/** A parameter of the query that must be there: a whole number from 0 on. */
export function numberParameter(query: URLSearchParams, name: string): number {
  const value = optionalNumber(query, name);
  if (value === undefined) throw bookieHttpErrors.BAD_REQUEST(`say ${name}: a whole number`);
  return value;
}

export function optionalNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw bookieHttpErrors.BAD_REQUEST(`${name}=${text} is no whole number from 0 to 2^53-1`);
  return value;
}

export function booleanParameter(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (text === '' || text === 'true') return true;
  if (text === 'false') return false;
  throw bookieHttpErrors.BAD_REQUEST(`${name}=${text} is neither true nor false`);
}

export function choiceParameter<Choice extends string>(query: URLSearchParams, name: string, choices: readonly Choice[]): Choice | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const choice = choices.find((each) => each === text);
  if (choice === undefined) throw bookieHttpErrors.BAD_REQUEST(`${name}=${text} is none of ${choices.join(', ')}`);
  return choice;
}

/** The body as an object with these fields at most; `{}` without a body. */
export function objectBody(body: unknown, fields: readonly string[]): Readonly<Record<string, unknown>> {
  if (body === undefined) return {};
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw bookieHttpErrors.BAD_REQUEST(`the body must be a JSON object`);
  const unknown = Object.keys(body).find((key) => !fields.includes(key));
  if (unknown !== undefined) throw bookieHttpErrors.BAD_REQUEST(`unknown field ${unknown}; there are: ${fields.join(', ')}`);
  return body as Record<string, unknown>;
}

export function booleanField(body: Readonly<Record<string, unknown>>, name: string): boolean | undefined {
  const value = body[name];
  if (value === undefined || typeof value === 'boolean') return value;
  throw bookieHttpErrors.BAD_REQUEST(`${name} must be true or false`);
}
