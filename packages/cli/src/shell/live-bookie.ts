import { shellErrors } from './errors.js';

export interface LiveOptions {
  http?: string;
}

const timeoutMs = 30_000;

/** Asks the HTTP service of a running bookie; resolves to its JSON. Rejects with `SHELL_HTTP` and what the bookie says. */
export async function askBookie<T = unknown>(
  address: string,
  path: string,
  { method = 'GET', body }: { method?: string; body?: object } = {},
): Promise<T> {
  const url = `${/^https?:\/\//.test(address) ? address : `http://${address}`}${path}`;
  let response: Response;
  let text: string;
  try {
    const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    response = await fetch(url, { method, signal: AbortSignal.timeout(timeoutMs), ...content });
    text = await response.text();
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw shellErrors.HTTP_UNREACHABLE(url, cause, { cause: error });
  }
  if (response.ok) return parsed(text) as T;
  const answer = parsed(text);
  const detail = typeof answer === 'object' && answer !== null && 'error' in answer ? String(answer.error) : text.trim().slice(0, 300);
  throw shellErrors.HTTP(url, response.status, detail);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
