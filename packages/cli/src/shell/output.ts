/** How a command tells its result: lines for people, or JSON. */
export interface OutputOptions {
  json?: boolean;
}

export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value));
}

/** One result: as JSON, or as its text. */
export function printResult<T>({ json }: OutputOptions, value: T, text: (value: T) => string): void {
  if (json === true) printJson(value);
  else printLine(text(value));
}

/** One line per fact, aligned. Undefined ones are left out. */
export function factsText(facts: object): string {
  const lines = Object.entries(facts).filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${cellText(value)}`).join('\n');
}

/** Rows as aligned columns under their names; a text when there are none. */
export function tableText(rows: readonly object[], none: string): string {
  const [first] = rows;
  if (first === undefined) return none;
  const names = Object.keys(first);
  const cells = [names, ...rows.map((row) => names.map((name) => cellText((row as Record<string, unknown>)[name])))];
  const widths = names.map((_name, column) => Math.max(...cells.map((row) => (row[column] as string).length)));
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function cellText(value: unknown): string {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return value.map(cellText).join(', ') || '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Progress for people, on standard error: one line that is written over on a terminal, a new one now and then otherwise. */
export class ProgressLine {
  readonly #everyMs: number;
  readonly #nowMs: () => number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #isOpen = false;

  constructor(nowMs: () => number, everyMs = process.stderr.isTTY ? 100 : 5_000) {
    this.#nowMs = nowMs;
    this.#everyMs = everyMs;
  }

  tell(text: string): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#lastMs < this.#everyMs) return;
    this.#lastMs = nowMs;
    this.#isOpen = process.stderr.isTTY;
    process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${text}` : `${text}\n`);
  }

  end(): void {
    if (this.#isOpen) process.stderr.write('\n');
    this.#isOpen = false;
  }
}

/** `3 min 20 s`; a question mark for what is not known. */
export function durationText(ms: number | undefined): string {
  if (ms === undefined) return '?';
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
