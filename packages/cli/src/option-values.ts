import { InvalidArgumentError } from 'commander';

/** Parser of an option that takes a whole number from `min` to `max`. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(
        `It must be a whole number ${max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`}.`,
      );
    }
    return value;
  };
}

/** Parser of a repeatable option NAME=VALUE. */
export function property(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write NAME=VALUE.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}
