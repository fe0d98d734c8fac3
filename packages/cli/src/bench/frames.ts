/** WebSocket frames (RFC 6455), as few bytes and as little work as a load generator needs: whole text frames, ping, close. */
export const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** A frame of a client. Its mask is zero, which leaves the payload as it is and costs the server as much as any other. */
export function clientFrame(payload: Buffer, opcode: number = opcodes.text): Buffer {
  const lengthBytes = payload.length < 126 ? 0 : payload.length < 65_536 ? 2 : 8;
  const frame = Buffer.alloc(2 + lengthBytes + 4 + payload.length);
  frame[0] = 0x80 | opcode;
  frame[1] = 0x80 | (lengthBytes === 0 ? payload.length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) frame.writeUInt16BE(payload.length, 2);
  if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(payload.length), 2);
  payload.copy(frame, 6 + lengthBytes);
  return frame;
}

/** A frame of the server inside `bytes`: its payload is `bytes[start..end)`; the slice is valid only during the call. */
export type OnFrame = (opcode: number, bytes: Buffer, start: number, end: number) => void;

/** Cuts what a server sends into frames. */
export class FrameParser {
  readonly #onFrame: OnFrame;
  #rest: Buffer = Buffer.alloc(0);

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (at < bytes.length) {
      const next = this.#frame(bytes, at);
      if (next === at) break;
      at = next;
    }
    this.#rest = at === bytes.length ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at));
  }

  /** Where the next frame begins, or `at` when this one is not complete. */
  #frame(bytes: Buffer, at: number): number {
    if (bytes.length - at < 2) return at;
    const first = bytes[at]!;
    const short = bytes[at + 1]! & 0x7f;
    if ((first & 0x80) === 0 || (bytes[at + 1]! & 0x80) !== 0)
      throw new Error('the server sent a fragmented or masked frame, which bench does not read');
    const start = at + (short < 126 ? 2 : short === 126 ? 4 : 10);
    if (bytes.length < start) return at;
    const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    const end = start + length;
    if (bytes.length < end) return at;
    this.#onFrame(first & 0x0f, bytes, start, end);
    return end;
  }
}
