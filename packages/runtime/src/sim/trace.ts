export type TraceField = string | number;

export interface TracedEvent {
  readonly atMs: number;
  readonly sequence: number;
  readonly label: string;
}

/**
 * What happened in a simulation: a running hash over all of it (two runs with one seed must agree) and the last lines for people.
 * Recording is cheap: fields are hashed as they are, text is made only when a failure is printed.
 */
export class Trace {
  readonly #lines: (TraceField[] | TracedEvent)[] = [];
  readonly #linesMax: number;
  #linesCount = 0;
  #low = 0x811c9dc5;
  #high = 0x9e3779b9;

  constructor({ linesMax = 400 }: { linesMax?: number } = {}) {
    this.#linesMax = linesMax;
  }

  record(...fields: TraceField[]): void {
    this.#lines[this.#linesCount % this.#linesMax] = fields;
    this.#linesCount++;
    for (const field of fields) {
      if (typeof field === 'number') this.#mixNumber(field);
      else this.#mixText(field);
    }
    this.#mix(0x1f);
  }

  /** As {@link record}, for what happens most: of the label only the length is hashed, as looking into it costs more than most events. */
  recordEvent(event: TracedEvent): void {
    this.#lines[this.#linesCount % this.#linesMax] = event;
    this.#linesCount++;
    this.#mixNumber(event.atMs);
    this.#mix(event.sequence);
    this.#mix(event.label.length);
    this.#mix(0x1f);
  }

  /** 64 bits as 16 hex digits. */
  get hash(): string {
    return hex(finished(this.#high)) + hex(finished(this.#low));
  }

  get linesCount(): number {
    return this.#linesCount;
  }

  /** The last lines, oldest first. */
  lastLines(count = this.#linesMax): string[] {
    const kept = Math.min(count, this.#linesCount, this.#linesMax);
    const out: string[] = [];
    for (let line = this.#linesCount - kept; line < this.#linesCount; line++) {
      const fields = this.#lines[line % this.#linesMax] as TraceField[] | TracedEvent;
      out.push('label' in fields ? `${fields.atMs} ${fields.sequence} ${fields.label}` : fields.join(' '));
    }
    return out;
  }

  #mixText(text: string): void {
    this.#mix(text.length);
    for (let i = 0; i < text.length; i++) this.#mix(text.charCodeAt(i));
  }

  #mixNumber(value: number): void {
    if (value === value >>> 0) {
      this.#mix(value);
    } else {
      numberView[0] = value;
      this.#mix(wordView[0] as number);
      this.#mix(wordView[1] as number);
    }
  }

  /** FNV-1a on one lane, a multiply-rotate mix on the other. */
  #mix(word: number): void {
    this.#low = Math.imul(this.#low ^ word, 0x01000193);
    const mixed = Math.imul(this.#high ^ word, 0xcc9e2d51);
    this.#high = ((mixed << 15) | (mixed >>> 17)) + 0x6b8b4567;
  }
}

const numberView = new Float64Array(1);
const wordView = new Uint32Array(numberView.buffer);

function finished(word: number): number {
  let mixed = word ^ (word >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  return Math.imul(mixed, 0xc2b2ae35);
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
