/**
 * Follows a stream of server-to-client WebSocket frames (unmasked) without keeping any of it: whether it stands between two frames, and whether a close
 * frame went by. For the proxy, which may add a close frame of its own only between frames.
 */
export class FrameBoundary {
  #head: number[] = [];
  #bodyBytesLeft = 0;
  #hasClose = false;

  /** True between two frames, as long as no close frame has passed. */
  get canClose(): boolean {
    return this.#head.length === 0 && this.#bodyBytesLeft === 0 && !this.#hasClose;
  }

  pass(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#bodyBytesLeft > 0) {
        const skipped = Math.min(this.#bodyBytesLeft, chunk.length - at);
        this.#bodyBytesLeft -= skipped;
        at += skipped;
        continue;
      }
      this.#head.push(chunk[at++] as number);
      this.#endOfHead();
    }
  }

  #endOfHead(): void {
    const length = (this.#head[1] ?? 0) & 0x7f;
    const headBytes = length === 127 ? 10 : length === 126 ? 4 : 2;
    if (this.#head.length < headBytes) return;
    if (((this.#head[0] as number) & 0x0f) === 8) this.#hasClose = true;
    this.#bodyBytesLeft = headBytes === 2 ? length : this.#head.slice(2).reduce((sum, byte) => sum * 256 + byte, 0);
    this.#head = [];
  }
}
