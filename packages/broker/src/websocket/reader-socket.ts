import type { Random } from '@daybook/runtime';
import { readReaderCommand } from './command-frame.js';
import { ConsumerSocket, type ConsumerSocketOptions } from './consumer-socket.js';
import type { ReaderParameters } from './query-parameters.js';

/**
 * A reader is an Exclusive subscription of its own that lives in memory: it holds nothing back from trimming and ends with its socket. Only
 * acknowledgements of what was delivered to it free a slot.
 */
export function readerSocket(
  options: Omit<ConsumerSocketOptions, 'subscribe' | 'readCommand'>,
  parameters: ReaderParameters,
  random: Random,
): ConsumerSocket {
  const suffix = Buffer.from(random.bytes(5)).toString('hex');
  return new ConsumerSocket({
    ...options,
    readCommand: readReaderCommand,
    subscribe: {
      subscription: `reader-${suffix}`,
      type: 'Exclusive',
      isDurable: false,
      initial: parameters.initial,
      consumerName: parameters.readerName,
      priorityLevel: 0,
      negativeAckDelayMs: 60_000,
      ackTimeoutMs: 0,
      flow: { kind: 'window', size: parameters.queueSize },
    },
  });
}
