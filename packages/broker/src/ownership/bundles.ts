import { type TopicName, topicHash } from '@daybook/proto';
import type { Policies } from '../policies/namespace-policies.js';

const hashSpace = 0x1_0000_0000;

/** The name of the bundle (a range of the hash space) that a topic falls into, `0x40000000_0x80000000`. The last one includes its upper end. */
export function bundleOf(name: TopicName, bundlesCount: number): string {
  const hash = topicHash(name);
  let index = 0;
  // Boundaries are rounded down, so a product could be off by one: compare.
  while (index + 1 < bundlesCount && hash >= Math.floor((hashSpace * (index + 1)) / bundlesCount)) index++;
  return `${boundary(index, bundlesCount)}_${boundary(index + 1, bundlesCount)}`;
}

/** How many bundles a namespace has, by its policies. */
export function bundlesCountOf(policies: Policies | undefined, otherwise: number): number {
  const bundles = policies?.bundles;
  const count = typeof bundles === 'object' && bundles !== null && 'numBundles' in bundles ? Number(bundles.numBundles) : Number.NaN;
  return Number.isInteger(count) && count > 0 ? count : otherwise;
}

function boundary(index: number, bundlesCount: number): string {
  const at = index === bundlesCount ? hashSpace - 1 : Math.floor((hashSpace * index) / bundlesCount);
  return `0x${at.toString(16).padStart(8, '0')}`;
}
