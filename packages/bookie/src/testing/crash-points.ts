/**
 * After how many disk operations a test that tries a crash "at every step" crashes: every one with `CRASH_STEP=1`, as it is run now and then; every `step`th
 * otherwise, from an offset that differs from run to run and is told, so that all of them are tried in time. `CRASH_STEP=7 CRASH_OFFSET=3` runs the same again.
 */
export function crashPoints(t: { comment(text: string): void }, step: number): { offset: number; step: number } {
  const chosen = Number(process.env.CRASH_STEP ?? step);
  const offset = Number(process.env.CRASH_OFFSET ?? process.hrtime.bigint() % BigInt(chosen));
  t.comment(`crash points: CRASH_STEP=${chosen} CRASH_OFFSET=${offset}`);
  return { offset, step: chosen };
}
