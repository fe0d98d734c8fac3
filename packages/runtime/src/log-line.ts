interface LoggedError {
  text: string;
  code?: string;
  stack?: string;
  cause?: LoggedError | string;
}

/** A JSON log line as one for people: `time LEVEL component: text key=value`, the stack of an unexpected error in lines below. */
export function logLine(json: string): string {
  const { time, level, component, text, error, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const head = `${time} ${String(level).toUpperCase().padEnd(5)} ${component === undefined ? '' : `${component}: `}${oneLine(String(text ?? ''))}`;
  const shown = Object.entries(fields).map(([key, value]) => ` ${key}=${fieldText(value)}`);
  return error === undefined ? head + shown.join('') : `${head}${errorText(error as LoggedError)}${shown.join('')}${stackText(error as LoggedError)}`;
}

function errorText(error: LoggedError | string): string {
  if (typeof error === 'string') return `: ${oneLine(error)}`;
  if (typeof error !== 'object' || error === null) return `: ${fieldText(error)}`;
  const code = error.code === undefined ? '' : ` [${error.code}]`;
  return `: ${oneLine(error.text)}${code}${error.cause === undefined ? '' : ` <-${errorText(error.cause).slice(1)}`}`;
}

function stackText(error: LoggedError): string {
  const frames = typeof error === 'object' ? error?.stack?.split('\n').filter((line) => line.startsWith('    at ')) : undefined;
  return frames === undefined ? '' : `\n${frames.join('\n')}`;
}

function fieldText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ');
}
