/** A time of `Clock.wallMs` for people and records: `2030-01-31T12:00:00.000Z`. */
export function isoTime(wallMs: number): string {
  // biome-ignore lint/style/noRestrictedGlobals: formats a time that came from a Clock, does not read one.
  return new Date(wallMs).toISOString();
}
