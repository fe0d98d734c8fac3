import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { cliErrors } from '../errors.js';
import { clientFrame, FrameParser, opcodes } from './frames.js';

export interface LoadSocketOptions {
  /** http://HOST:PORT of a broker. */
  url: string;
  /** With the query. */
  path: string;
  token?: string | undefined;
  /** A text frame; the slice is valid only during the call. */
  onText(bytes: Buffer, start: number, end: number): void;
  /** The socket ended although `close` was not called. */
  onLost(reason: string): void;
}

/**
 * A WebSocket over a plain TCP socket. Everyday clients spend more on a message than the broker does; a load generator that is to load it must not. Frames
 * that are sent in one turn go out as one write.
 */
export class LoadSocket {
  readonly #socket: Socket;
  readonly #options: LoadSocketOptions;
  readonly #parser: FrameParser;
  #isCorked = false;
  #isClosing = false;

  private constructor(socket: Socket, options: LoadSocketOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#parser = new FrameParser((opcode, bytes, start, end) => this.#received(opcode, bytes, start, end));
  }

  static async open(options: LoadSocketOptions): Promise<LoadSocket> {
    const { hostname, port, host } = new URL(options.url);
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80), noDelay: true });
    const head = [`GET ${options.path} HTTP/1.1`, `Host: ${host}`, 'Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'];
    head.push(`Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`);
    if (options.token !== undefined) head.push(`Authorization: Bearer ${options.token}`);
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    const rest = await upgraded(socket, options.url);
    const opened = new LoadSocket(socket, options);
    opened.#listen(rest);
    return opened;
  }

  /** A complete frame (see {@link clientFrame}). False: the kernel takes no more for now. */
  send(frame: Buffer): boolean {
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#socket.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        this.#socket.uncork();
      });
    }
    return this.#socket.write(frame);
  }

  close(): void {
    this.#isClosing = true;
    this.#socket.end(clientFrame(Buffer.from([0x03, 0xe8]), opcodes.close));
    this.#socket.once('end', () => this.#socket.destroy());
  }

  #listen(rest: Buffer): void {
    const lost = (reason: string): void => {
      if (!this.#isClosing) this.#options.onLost(reason);
      this.#isClosing = true;
      this.#socket.destroy();
    };
    this.#socket.on('error', (error) => lost(error.message));
    this.#socket.on('close', () => lost('the broker closed the connection'));
    this.#socket.on('data', (chunk) => {
      try {
        this.#parser.push(chunk);
      } catch (error) {
        lost((error as Error).message);
      }
    });
    if (rest.length > 0) this.#parser.push(rest);
  }

  #received(opcode: number, bytes: Buffer, start: number, end: number): void {
    if (opcode === opcodes.text) this.#options.onText(bytes, start, end);
    else if (opcode === opcodes.ping) this.send(clientFrame(bytes.subarray(start, end), opcodes.pong));
    else if (opcode === opcodes.close && !this.#isClosing) {
      const code = end - start >= 2 ? bytes.readUInt16BE(start) : 1005;
      this.#options.onLost(`the broker closed the socket with ${code} ${bytes.toString('utf8', start + 2, end)}`);
      this.close();
    }
  }
}

/** Resolves to what came after the answer's head. */
function upgraded(socket: Socket, url: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let answer: Buffer = Buffer.alloc(0);
    const fail = (why: string): void => {
      socket.destroy();
      reject(cliErrors.BENCH_FAILED(`${url}: ${why}`));
    };
    const onClose = (): void => fail(`the connection was closed: ${answer.toString('latin1').split('\r\n', 1)[0]}`);
    const onError = (error: Error): void => fail(error.message);
    const onData = (chunk: Buffer): void => {
      answer = Buffer.concat([answer, chunk]);
      const headEnd = answer.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      if (!/^HTTP\/1\.1 101 /.test(answer.toString('latin1', 0, 16))) {
        fail(`refused: ${answer.toString('utf8').replaceAll('\r\n', ' ')}`);
        return;
      }
      socket.off('data', onData).off('error', onError).off('close', onClose);
      resolve(answer.subarray(headEnd + 4));
    };
    socket.on('data', onData).on('error', onError).on('close', onClose);
  });
}
