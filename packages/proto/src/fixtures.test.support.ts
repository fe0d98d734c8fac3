import { createRequire } from 'node:module';
import type { ErrorFactory } from '@daybook/runtime';

const require = createRequire(import.meta.url);

/** Golden bytes kept in `src/fixtures`, found from `dist`. */
export function fixture<T>(name: string): T {
  return require(`../src/fixtures/${name}`) as T;
}

export function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

/** What of a tap test is used here. */
interface Failing {
  fail(message: string): unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: any factory of any text.
type AnyFactory = ErrorFactory<(...args: any[]) => string>;

/** Cuts `bytes` at every length: each must give that error. Where a shorter text is valid too, `mayBe` says whether the value is one it may have. */
export function checkTruncations<T>(
  t: Failing,
  bytes: Buffer,
  decode: (part: Buffer) => T,
  error: AnyFactory | readonly AnyFactory[],
  mayBe?: (value: T) => boolean,
): void {
  const factories = 'code' in error ? [error] : error;
  for (let length = 0; length < bytes.length; length++) {
    // A copy of its own, so that reading beyond its end cannot find the rest.
    const part = Buffer.from(bytes.subarray(0, length));
    let value: T;
    try {
      value = decode(part);
    } catch (thrown) {
      if (!factories.some((factory) => factory.is(thrown))) t.fail(`cut to ${length}: ${String(thrown)}`);
      continue;
    }
    if (mayBe === undefined || !mayBe(value)) t.fail(`cut to ${length}: gave a value`);
  }
}

/** The code of the error that `run` throws, or undefined. */
export function codeOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}
