/** A place in a journal: everything before it is durable. */
export interface JournalMark {
  readonly fileId: number;
  readonly offset: number;
}

/** One mark per journal directory, in the order of the configuration. */
export type JournalMarks = readonly JournalMark[];

/**
 * True when `a` is at or behind `b` in **every** journal. Marks of several journals are not a total order: of [2, 1] and [1, 2] neither covers the other,
 * and whoever compares them one after another loses what lies between.
 */
export function covers(a: JournalMarks, b: JournalMarks): boolean {
  return a.length === b.length && a.every((mark, i) => compareMarks(mark, b[i] as JournalMark) >= 0);
}

/** Negative when `a` is before `b`; for marks of the same journal. */
export function compareMarks(a: JournalMark, b: JournalMark): number {
  return a.fileId - b.fileId || a.offset - b.offset;
}
