/** A broken promise of our own code. Nobody catches it: `main` logs it and exits, the simulator fails the seed. */
export class BrokenInvariant extends Error {
  override readonly name = 'BrokenInvariant';
}

/** Stops the process (through an uncaught error) when `condition` does not hold. For bugs only, never for input or the outside world. */
export function invariant(condition: unknown, text: string): asserts condition {
  if (!condition) throw new BrokenInvariant(text);
}

/** For the end of an exhaustive switch: does not compile while a case is missing. */
export function unreachable(value: never): never {
  throw new BrokenInvariant(`unexpected value ${JSON.stringify(value)}`);
}
