import fc from 'fast-check';
import t from 'tap';
import { chunksOf } from './copy-live.js';
import type { Run } from './index-format.js';

const anyRuns = fc.array(
  fc.record({
    gap: fc.oneof(fc.constant(0), fc.nat(200), fc.integer({ min: 60_000, max: 80_000 })),
    sizes: fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 40 }),
  }),
  { maxLength: 20 },
);

function runsOf(steps: { gap: number; sizes: number[] }[]): Run[] {
  let position = 64;
  return steps.map(({ gap, sizes }, ledgerId) => {
    position += gap;
    const positions = Uint32Array.from([0, ...sizes], (_, i) => {
      if (i > 0) position += sizes[i - 1] as number;
      return position;
    });
    return { ledgerId, firstEntryId: 5, count: sizes.length, positions, at: 0 };
  });
}

t.test(
  'chunks of a log: any runs and bounds → every entry once, in order; within bounds unless it is a single entry; no large gap is read',
  async () => {
    fc.assert(
      fc.property(anyRuns, fc.integer({ min: 50, max: 2000 }), fc.integer({ min: 1, max: 50 }), (steps, chunkBytesMax, chunkEntriesMax) => {
        const runs = runsOf(steps);
        const seen: string[] = [];
        for (const chunk of chunksOf(runs, { chunkBytesMax, chunkEntriesMax })) {
          const entries = chunk.runs.reduce((sum, run) => sum + run.count, 0);
          if (entries !== chunk.entries || entries > chunkEntriesMax) return false;
          if (chunk.end - chunk.start > chunkBytesMax && entries > 1) return false;
          let end = chunk.start;
          for (const { ledgerId, firstEntryId, count, positions, at } of chunk.runs) {
            if ((positions[at] as number) - end > 64 * 1024) return false;
            for (let i = 0; i < count; i++) seen.push(`${ledgerId}/${firstEntryId + i}@${positions[at + i]}`);
            end = positions[at + count] as number;
          }
          if (end !== chunk.end) return false;
        }
        const expected = runs.flatMap(({ ledgerId, firstEntryId, count, positions }) =>
          Array.from({ length: count }, (_, i) => `${ledgerId}/${firstEntryId + i}@${positions[i]}`),
        );
        return JSON.stringify(seen) === JSON.stringify(expected);
      }),
      { numRuns: 300 },
    );
  },
);
