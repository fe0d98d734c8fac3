export { RealClock } from './clock.js';
export { RealDisk } from './disk.js';
export { RealRandom } from './random.js';
