/** What a caller may do: `never` try the same again, or try it `later` (after a delay). */
export type Retry = 'never' | 'later';

/** An expected failure: coded, with a text for people that says what to do. Callers match on `code`, never on text. */
export class DaybookError extends Error {
  readonly code: string;
  readonly retry: Retry;
  constructor(code: string, retry: Retry, text: string, cause?: unknown) {
    super(text, cause === undefined ? undefined : { cause });
    this.name = 'DaybookError';
    this.code = code;
    this.retry = retry;
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the argument types come from each row's own text function.
type Text = (...args: any[]) => string;
export type ErrorTable = Record<string, { retry: Retry; text: Text }>;

/** Makes the error of one row; a last argument `{ cause }` keeps the cause. */
export type ErrorFactory<T extends Text> = ((...args: [...Parameters<T>, options?: { cause?: unknown }]) => DaybookError) & {
  readonly code: string;
  /** True for errors made by this factory. */
  is(error: unknown): error is DaybookError;
};

export interface DefinedErrors {
  area: string;
  table: ErrorTable;
}
const defined: DefinedErrors[] = [];

/** Every table made so far, for the generated `docs/errors.md`. */
export function definedErrors(): readonly DefinedErrors[] {
  return defined;
}

/** One table per area: key → retry class and text. The code of an error is `AREA_KEY`. */
export function defineErrors<T extends ErrorTable>(area: string, table: T): { readonly [K in keyof T]: ErrorFactory<T[K]['text']> } {
  defined.push({ area, table });
  const factories: Record<string, unknown> = {};
  for (const [key, row] of Object.entries(table)) {
    const code = `${area}_${key}`;
    const make = (...args: unknown[]): DaybookError => {
      const last = args.at(-1);
      const extra = args.length > row.text.length && typeof last === 'object' && last !== null && 'cause' in last ? last : undefined;
      return new DaybookError(code, row.retry, row.text(...(extra === undefined ? args : args.slice(0, -1))), extra?.cause);
    };
    factories[key] = Object.assign(make, { code, is: (error: unknown) => error instanceof DaybookError && error.code === code });
  }
  return Object.freeze(factories) as { readonly [K in keyof T]: ErrorFactory<T[K]['text']> };
}

/** The code of an expected error, or undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof DaybookError ? error.code : undefined;
}
