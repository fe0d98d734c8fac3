import { crc32 } from '@daybook/runtime';
import type { TopicName } from './topic-name.js';

const utf8 = new TextEncoder();

/** Where a topic lies in its namespace's bundles, 0 to 0xffffffff: the CRC-32 of its full name, as Pulsar has it. */
export function topicHash(name: TopicName): number {
  return crc32(utf8.encode(name.full));
}
