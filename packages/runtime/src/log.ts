import { createRequire } from 'node:module';
import type { Logger as PinoLogger } from 'pino';
import type { Clock } from './clock.js';
import { DaybookError } from './errors.js';
import { isoTime } from './format-time.js';
import { logLine } from './log-line.js';

/** Ids and numbers that belong to a line. An Error under `error` is written with its code and causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** What components are handed. One line per change of state; nothing per message above `debug`. */
export interface Logger {
  debug(fields: LogFields, text: string): void;
  info(fields: LogFields, text: string): void;
  warn(fields: LogFields, text: string): void;
  error(fields: LogFields, text: string): void;
  /** A logger that adds these fields to each line; `component` names the part of Daybook that speaks. */
  child(fields: LogFields): Logger;
  /** False when `debug` writes nothing: ask before building costly fields. */
  readonly isDebug: boolean;
}

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LoggerOptions {
  clock: Clock;
  level?: LogLevel;
  /** `text` (default): one plain line for people. `json`: one object a line for machines. */
  format?: 'text' | 'json';
  /** Gets whole lines, newline included. Default: standard error, so that the output of commands stays clean. */
  write?: (line: string) => void;
  /** Fields of every line, such as the node's name. */
  fields?: LogFields;
}

/** Logs nothing. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
  isDebug: false,
};

export function createLogger({ clock, level = 'info', format = 'text', write = writeToStandardError, fields = {} }: LoggerOptions): Logger {
  // Loaded here: commands that log nothing should not pay for it.
  const { pino } = createRequire(import.meta.url)('pino') as typeof import('pino');
  const destination = { write: format === 'json' ? write : (json: string) => write(`${logLine(json)}\n`) };
  return new PinoBackedLogger(
    pino(
      {
        level,
        base: fields,
        messageKey: 'text',
        timestamp: () => `,"time":"${isoTime(clock.wallMs())}"`,
        formatters: { level: (label) => ({ level: label }) },
        serializers: { error: errorFields },
      },
      destination,
    ),
  );
}

class PinoBackedLogger implements Logger {
  readonly #pino: PinoLogger;

  constructor(pino: PinoLogger) {
    this.#pino = pino;
  }

  get isDebug(): boolean {
    return this.#pino.isLevelEnabled('debug');
  }

  debug(fields: LogFields, text: string): void {
    this.#pino.debug(fields, text);
  }

  info(fields: LogFields, text: string): void {
    this.#pino.info(fields, text);
  }

  warn(fields: LogFields, text: string): void {
    this.#pino.warn(fields, text);
  }

  error(fields: LogFields, text: string): void {
    this.#pino.error(fields, text);
  }

  child(fields: LogFields): Logger {
    return new PinoBackedLogger(this.#pino.child(fields));
  }
}

/** Expected errors need no stack; for anything else it is the only hint. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return {
    text: error.message,
    ...('code' in error && { code: error.code }),
    ...(!(error instanceof DaybookError) && { stack: error.stack }),
    ...(error.cause !== undefined && { cause: errorFields(error.cause) }),
  };
}

function writeToStandardError(line: string): void {
  process.stderr.write(line);
}
