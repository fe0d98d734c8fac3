export { type AppendChannel, AppendSession, type AppendSessionOptions } from '../server/append-session.js';
export { type BookieLifeOptions, runBookieLife } from './bookie-life.js';
export { type GarbageLifeOptions, type GarbageLifeReport, runGarbageLife } from './garbage-life.js';
