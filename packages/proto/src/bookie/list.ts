import { decoding, Malformed, protoErrors } from '../errors.js';
import { entryId } from '../ids.js';
import { WireReader } from '../wire/reader.js';
import { WireWriter } from '../wire/writer.js';
import { bookieCodeNumbers, bookieCodeOf } from './codes.js';
import type { BookieCode, ListEntriesReply } from './service.js';

/** Message ListEntriesReply of bookie.proto; the request is in lac.ts. */
export function encodeListEntriesReply(reply: ListEntriesReply): Buffer {
  const numbers: number[] = [];
  let next = 0;
  for (const { first, last } of reply.runs) {
    numbers.push(first - next, last - first + 1);
    next = last + 1;
  }
  return new WireWriter().int(1, bookieCodeNumbers[reply.code]).packed(2, numbers).finish();
}

/** Throws `PROTO_FRAME_MALFORMED`. */
export function decodeListEntriesReply(bytes: Uint8Array): ListEntriesReply {
  return decoding(
    (detail) => protoErrors.FRAME_MALFORMED('ListEntriesReply', detail),
    () => {
      const reader = new WireReader(bytes);
      let code: BookieCode | undefined;
      const numbers: number[] = [];
      while (reader.next()) {
        if (reader.field === 1) code = bookieCodeOf(reader.uint());
        else if (reader.field === 2) reader.repeated((one) => numbers.push(one.uint()));
        else reader.skip();
      }
      if (code === undefined) throw new Malformed('it has no code');
      return { code, runs: runsOf(numbers) };
    },
  );
}

function runsOf(numbers: readonly number[]): ListEntriesReply['runs'] {
  if (numbers.length % 2 !== 0) throw new Malformed('a run is cut off');
  const runs: ListEntriesReply['runs'][number][] = [];
  let next = 0;
  for (let i = 0; i < numbers.length; i += 2) {
    const first = next + (numbers[i] as number);
    const count = numbers[i + 1] as number;
    next = first + count;
    if (count < 1 || (i > 0 && numbers[i] === 0) || !Number.isSafeInteger(next)) throw new Malformed('runs are not apart and ascending');
    runs.push({ first: entryId(first), last: entryId(next - 1) });
  }
  return runs;
}
