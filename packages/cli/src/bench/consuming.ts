import { clientFrame } from './frames.js';
import { LoadSocket } from './load-socket.js';

export interface ConsumingOptions {
  url: string;
  token?: string | undefined;
  topicPath: string;
  subscription: string;
  receiverQueueSize: number;
  /** The frame of each message; valid only during the call. */
  onMessage(bytes: Buffer, start: number, end: number): void;
  onFailure(why: string): void;
}

const idName = Buffer.from('"messageId":"');
const quote = 0x22;

/** A consumer socket that acknowledges each message as it comes, all acknowledgements of a turn in one write. */
export async function startConsuming(options: ConsumingOptions): Promise<{ stop(): void }> {
  const { url, token, topicPath, subscription, receiverQueueSize, onMessage, onFailure } = options;
  const socket: LoadSocket = await LoadSocket.open({
    url,
    token,
    path: `/ws/v2/consumer/${topicPath}/${encodeURIComponent(subscription)}?receiverQueueSize=${receiverQueueSize}`,
    onLost: onFailure,
    onText: (bytes, start, end) => {
      const idStart = bytes.indexOf(idName, start) + idName.length;
      if (idStart < idName.length || idStart > end) return onFailure(`a frame without message id: ${bytes.toString('utf8', start, end)}`);
      const id = bytes.toString('latin1', idStart, bytes.indexOf(quote, idStart));
      onMessage(bytes, start, end);
      acknowledge(id);
    },
  });
  const acknowledge = (id: string): void => void socket.send(clientFrame(Buffer.from(`{"messageId":"${id}"}`, 'latin1')));
  return { stop: () => socket.close() };
}
