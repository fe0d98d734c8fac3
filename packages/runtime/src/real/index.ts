export { RealClock } from './clock.js';
export { RealDisk } from './disk.js';
export { bufferAccountingFlags, keepHeapHeadroom } from './heap-headroom.js';
export { RealRandom } from './random.js';
