import type { TopicName } from '@daybook/proto';
import { crc32 } from '@daybook/runtime';

const encoder = new TextEncoder();

/**
 * Which of the live brokers takes a bundle that nobody has: the one with the highest hash of both names. Brokers that see the same list agree without talking,
 * and when one comes or goes only its own bundles change hands. Undefined when there is none.
 */
export function chooseBroker(brokerIds: readonly string[], bundle: string): string | undefined {
  let best: string | undefined;
  let bestWeight = -1;
  for (const brokerId of brokerIds) {
    const weight = mix(crc32(encoder.encode(`${brokerId} ${bundle}`)));
    if (weight > bestWeight || (weight === bestWeight && brokerId < best!)) {
      best = brokerId;
      bestWeight = weight;
    }
  }
  return best;
}

/** A broker checks its own health in a namespace of its own, `pulsar/<broker id>`: only that broker ever serves it, and it needs no record. */
export function heartbeatBroker(name: TopicName): string | undefined {
  return name.tenant === 'pulsar' && name.namespace.includes(':') ? name.namespace : undefined;
}

/** A CRC is linear: without this, ids that differ in one character would share their bundles unevenly. */
function mix(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
