export { type BookieLifeOptions, runBookieLife } from './bookie-life.js';
