import type { Clock } from './clock.js';
import { defineErrors } from './errors.js';
import type { Random } from './random.js';
import { Backoff } from './retry.js';

export const casErrors = defineErrors('CAS', {
  CONTENDED: {
    retry: 'later',
    text: (what: string, attempts: number) => `${what} was changed by others ${attempts} times in a row while being updated: try again`,
  },
});

/** A versioned value elsewhere, usually in the metadata store. */
export interface CasTarget<Value, Version> {
  /** What it is, for error texts. */
  readonly name: string;
  read(): Promise<{ value: Value; version: Version }>;
  /** Writes only if the version is still this one; resolves to the new version. */
  write(value: Value, version: Version): Promise<Version>;
  /** Is this error of `write` the answer "it has another version"? */
  isConflict(error: unknown): boolean;
}

export interface CasLoopOptions<Value, Version> {
  target: CasTarget<Value, Version>;
  /**
   * The new value, or `undefined` when there is nothing to change. Pure, called again for every re-read value; throws to give up.
   * A write whose answer got lost may have happened: then the re-read value has the change already, and `undefined` is the right answer.
   */
  transform: (value: Value) => Value | undefined;
  clock: Clock;
  random: Random;
  attemptsMax?: number;
  /** A value the caller knows (as it was read before): saves the first read. */
  known?: { value: Value; version: Version };
}

export interface CasResult<Value, Version> {
  value: Value;
  version: Version;
  /** False when `transform` had nothing to change. */
  isChanged: boolean;
}

/** The one way to change shared metadata: read with version → pure transform → write if unchanged → on conflict, wait a little and re-read. */
export async function casLoop<Value, Version>(options: CasLoopOptions<Value, Version>): Promise<CasResult<Value, Version>> {
  const { target, transform, clock, random, attemptsMax = 20 } = options;
  const backoff = new Backoff({ random, delayMsMin: 2, delayMsMax: 200 });
  let known = options.known;
  for (let attempt = 1; ; attempt++) {
    const { value, version } = known ?? (await target.read());
    known = undefined;
    const changed = transform(value);
    if (changed === undefined) return { value, version, isChanged: false };
    try {
      return { value: changed, version: await target.write(changed, version), isChanged: true };
    } catch (error) {
      if (!target.isConflict(error)) throw error;
      if (attempt >= attemptsMax) throw casErrors.CONTENDED(target.name, attempt, { cause: error });
    }
    await clock.sleep(backoff.nextDelayMs());
  }
}
