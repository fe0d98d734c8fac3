import fc from 'fast-check';
import t from 'tap';
import { UnansweredRing } from './unanswered.js';

t.test('unanswered ring: any mix of push, shift and pop → behaves as a list', async (t) => {
  const step = fc.oneof(fc.record({ push: fc.string() }), fc.constant('shift' as const), fc.constant('pop' as const));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const ring = new UnansweredRing();
      const model: { context: string; bytes: number }[] = [];
      for (const one of steps) {
        if (typeof one === 'object') {
          const bytes = one.push.length + 1;
          ring.push(one.push, bytes, 0);
          model.push({ context: one.push, bytes });
        } else if (model.length > 0) {
          const expected = one === 'shift' ? model.shift() : model.pop();
          t.equal(one === 'shift' ? ring.shift() : ring.pop(), expected?.context);
        }
        t.strictSame(
          [ring.count, ring.bytes, ring.oldest?.context],
          [model.length, model.reduce((sum, { bytes }) => sum + bytes, 0), model[0]?.context],
        );
      }
    }),
    { numRuns: 50 },
  );
});
